//! The record of what was asked, one line of JSON each, written before the answer: who reads it knows that a request
//! has come. Headers are not recorded; they hold keys.
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::http::Request;

pub(crate) struct Log(Mutex<File>);

impl Log {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        File::create(path).map(|file| Self(Mutex::new(file)))
    }

    /// Records a request that took a step of the script, with the number of the step.
    pub(crate) fn asked(&self, request: &Request, step: usize) -> io::Result<()> {
        self.line(&json!({"event": "asked", "step": step, "path": request.path, "body": request.body}))
    }

    /// Records any other request.
    pub(crate) fn aside(&self, request: &Request) -> io::Result<()> {
        let Request { method, path, body } = request;
        self.line(&json!({"event": "aside", "method": method, "path": path, "body": body}))
    }

    /// Records that a client left while it was kept waiting.
    pub(crate) fn left(&self, step: usize) -> io::Result<()> {
        self.line(&json!({"event": "left", "step": step}))
    }

    fn line(&self, record: &Value) -> io::Result<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(format!("{record}\n").as_bytes())
    }
}
