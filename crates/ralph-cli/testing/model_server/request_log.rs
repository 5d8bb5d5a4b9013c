//! The log of requests, one line of JSON each, written before the answer, so that a test can wait for a request. Headers
//! are not logged because they contain keys; only the end of a key is.
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::http::Request;

pub(crate) struct RequestLog(Mutex<File>);

impl RequestLog {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        File::create(path).map(|file| Self(Mutex::new(file)))
    }

    /// Records a request that took a step of the script. Such requests are numbered from 0.
    pub(crate) fn record_step_request(&self, request: &Request, number: usize) -> io::Result<()> {
        self.append_record(
            &json!({"event": "step_request", "number": number, "path": request.path, "body": request.body}),
        )
    }

    /// Records any other request.
    pub(crate) fn record_other_request(&self, request: &Request) -> io::Result<()> {
        let Request { method, path, body, key_end } = request;
        self.append_record(
            &json!({"event": "other_request", "method": method, "path": path, "body": body, "key_end": key_end}),
        )
    }

    /// Records that a client disconnected without an answer.
    pub(crate) fn record_disconnect(&self, number: usize) -> io::Result<()> {
        self.append_record(&json!({"event": "disconnect", "number": number}))
    }

    fn append_record(&self, record: &Value) -> io::Result<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{record}\n").as_bytes())
    }
}
