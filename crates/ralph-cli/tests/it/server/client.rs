//! A small HTTP/1.1 client, which can also send what no other client sends.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::harness::WAIT_TIMEOUT;

/// A request as it is sent.
#[derive(Clone)]
pub struct HttpRequest {
    method: &'static str,
    path: String,
    headers: Vec<(String, String)>,
    body: Option<Vec<u8>>,
}

/// An answer that was read to its end.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl HttpRequest {
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: "GET", path: path.into(), headers: Vec::new(), body: None }
    }

    /// An order with a JSON body.
    pub fn post(path: impl Into<String>, body: &Value) -> Self {
        let request = Self { method: "POST", path: path.into(), headers: Vec::new(), body: None };
        request.header("Content-Type", "application/json").raw_body(body.to_string())
    }

    pub fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    /// Adds a header, or replaces it.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without_header(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    pub fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub fn raw_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    fn to_bytes(&self, port: u16) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name == "Host") {
            text.push_str(&format!("Host: 127.0.0.1:{port}\r\n"));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        text.push_str("Connection: close\r\n\r\n");
        [text.as_bytes(), self.body.as_deref().unwrap_or_default()].concat()
    }

    /// Sends the request on a new connection.
    pub fn open(&self, port: u16) -> BufReader<TcpStream> {
        let mut stream = connect(port);
        // The server may refuse a request before it has read all of it.
        drop(stream.write_all(&self.to_bytes(port)));
        BufReader::new(stream)
    }

    pub fn send(&self, port: u16) -> HttpAnswer {
        HttpAnswer::read(self.open(port))
    }
}

pub fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(WAIT_TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(WAIT_TIMEOUT)).unwrap();
    stream
}

/// Sends bytes, and reads until the server closes the connection or the time is over.
pub fn exchange(port: u16, bytes: &[u8], timeout: Duration) -> String {
    let mut stream = connect(port);
    stream.set_read_timeout(Some(timeout)).unwrap();
    // The server may close the connection before it has read everything.
    drop(stream.write_all(bytes));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    String::from_utf8_lossy(&answer).into_owned()
}

impl HttpAnswer {
    fn read(mut reader: BufReader<TcpStream>) -> Self {
        let (status, headers) = read_head(&mut reader);
        let mut bytes = Vec::new();
        // A client that sent too much gets a reset after the answer.
        drop(reader.read_to_end(&mut bytes));
        let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let bytes = if is_chunked { join_chunks(&bytes) } else { bytes };
        Self { status, headers, body: String::from_utf8_lossy(&bytes).into_owned() }
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// Reads the status and the headers of an answer.
pub fn read_head(reader: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{line:?}"));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => return (status, headers),
        }
    }
}

fn join_chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        joined.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 2 + size + 2..];
    }
    joined
}

/// A stream of server-sent events.
pub struct EventReader {
    reader: BufReader<TcpStream>,
}

/// An event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerEvent {
    pub id: String,
    pub name: String,
    pub data: String,
}

impl EventReader {
    pub fn open(port: u16, request: &HttpRequest) -> Self {
        let mut reader = request.open(port);
        let (status, headers) = read_head(&mut reader);
        assert_eq!(status, 200, "{headers:?}");
        Self { reader }
    }

    /// Returns the next event; `None` after the end of the stream.
    pub fn next_event(&mut self) -> Option<ServerEvent> {
        let mut event = ServerEvent::default();
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            let line = line.trim_end();
            match line.split_once(": ") {
                Some(("id", value)) => value.clone_into(&mut event.id),
                Some(("event", value)) => value.clone_into(&mut event.name),
                Some(("data", value)) => value.clone_into(&mut event.data),
                // A comment, the size of a chunk, or the end of an event.
                _ if line.is_empty() && !event.data.is_empty() => return Some(event),
                _ => {}
            }
        }
    }

    /// Returns the events up to the first one of this name.
    pub fn read_until(&mut self, name: &str) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next_event() {
            let is_last = event.name == name;
            events.push(event);
            if is_last {
                return events;
            }
        }
        panic!("the stream ended before {name}: {events:?}");
    }
}
