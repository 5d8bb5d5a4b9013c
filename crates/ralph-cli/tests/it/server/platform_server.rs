//! A server on this machine that receives messages as Slack and webhooks do.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::harness::wait_until;

/// A request that the platform has received.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub head: String,
    pub body: String,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> String {
        let line = self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        line.unwrap_or_else(|| panic!("{name} is not in {}", self.head))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// How the platform answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlatformAnswer {
    Accept,
    /// The first messages fail, as many.
    FailFirst(usize),
    /// Sends the client to another path.
    Redirect,
    /// Reads the message and never answers.
    Hang,
    /// Fails every message that contains this text.
    FailMessagesWith(&'static str),
}

/// A platform on a free port of this machine.
pub struct PlatformServer {
    pub url: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl PlatformServer {
    pub fn start(answer: PlatformAnswer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/services/T0/B0/url-secret-77aa", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&received);
        std::thread::spawn(move || {
            let mut hanging = Vec::new();
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                if answer == PlatformAnswer::Hang {
                    hanging.push(stream.try_clone().unwrap());
                }
                handle_connection(stream, &list, answer);
            }
        });
        Self { url, received }
    }

    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }

    /// Returns the texts that arrived, with the name of their field.
    pub fn texts(&self, field: &str) -> Vec<String> {
        self.received().iter().map(|request| request.json()[field].as_str().unwrap().to_owned()).collect()
    }

    pub fn wait_for_text(&self, field: &str, words: &str) -> Vec<String> {
        wait_until(&format!("the platform has {words:?}"), || {
            self.texts(field).iter().any(|text| text.contains(words))
        });
        self.texts(field)
    }
}

fn handle_connection(stream: TcpStream, list: &Mutex<Vec<ReceivedRequest>>, answer: PlatformAnswer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return;
        }
    }
    let request = ReceivedRequest { head, body: String::new() };
    let mut body = vec![0; request.header("content-length").parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let request = ReceivedRequest { body: String::from_utf8(body).unwrap(), ..request };
    let mut list = list.lock().unwrap();
    let is_failed = match answer {
        PlatformAnswer::Accept | PlatformAnswer::Redirect | PlatformAnswer::Hang => false,
        PlatformAnswer::FailFirst(count) => list.len() < count,
        PlatformAnswer::FailMessagesWith(words) => request.body.contains(words),
    };
    list.push(request);
    drop(list);
    if answer == PlatformAnswer::Hang {
        return;
    }
    let status = match answer {
        PlatformAnswer::Redirect => "307 Temporary Redirect\r\nLocation: /elsewhere",
        _ if is_failed => "503 Service Unavailable",
        _ => "200 OK",
    };
    let mut stream = stream;
    // The client may have closed the connection.
    drop(write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
}
