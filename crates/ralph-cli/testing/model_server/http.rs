//! The part of HTTP/1.1 that coding agents need: one request per connection, a content length or chunks, an answer whole
//! or as a stream of events. By hand because the tests need broken and truncated answers too.
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

/// More than any agent sends.
const MAX_BODY_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    /// Null if the body is not JSON.
    pub(crate) body: Value,
    /// The last characters of the API key.
    pub(crate) key_end: Option<String>,
}

impl Request {
    /// Returns the path without its query.
    pub(crate) fn bare_path(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

/// Reads one request. Returns `None` if the client sent nothing.
pub(crate) fn read_request(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let first = read_line(&mut reader)?;
    let mut words = first.split_whitespace().map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else { return Ok(None) };
    let RequestHeaders { length, key_end } = read_headers(&mut reader, stream)?;
    let bytes = match length {
        BodyLength::Known(length) => read_exactly(&mut reader, length)?,
        BodyLength::Chunks => read_chunks(&mut reader)?,
    };
    let body = serde_json::from_slice(&bytes).unwrap_or_default();
    Ok(Some(Request { method, path, body, key_end }))
}

struct RequestHeaders {
    length: BodyLength,
    key_end: Option<String>,
}

enum BodyLength {
    Known(u64),
    Chunks,
}

fn read_line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.take(64 << 10).read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// Reads the headers up to the empty line. Some clients send the body only after a `100 Continue`.
fn read_headers(reader: &mut impl BufRead, mut stream: &TcpStream) -> io::Result<RequestHeaders> {
    let mut found = RequestHeaders { length: BodyLength::Known(0), key_end: None };
    loop {
        let header = read_line(reader)?.to_ascii_lowercase();
        let Some((name, value)) = header.split_once(':') else { return Ok(found) };
        match (name, value.trim()) {
            ("content-length", value) => found.length = BodyLength::Known(value.parse().unwrap_or(0)),
            ("transfer-encoding", "chunked") => found.length = BodyLength::Chunks,
            ("expect", "100-continue") => stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
            ("x-api-key" | "authorization", value) => {
                found.key_end = Some(value.get(value.len().saturating_sub(4)..).unwrap_or_default().to_owned());
            }
            _ => {}
        }
    }
}

fn read_exactly(reader: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(length.min(MAX_BODY_BYTES)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let size = read_line(reader)?;
        let size = u64::from_str_radix(size.split(';').next().unwrap_or_default(), 16);
        let size = size.map_err(io::Error::other)?;
        bytes.extend(read_exactly(reader, size)?);
        read_line(reader)?;
        if size == 0 || bytes.len() as u64 > MAX_BODY_BYTES {
            return Ok(bytes);
        }
    }
}

/// An answer with a JSON body, or without a body if that is null.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: 200, headers: Vec::new(), body }
    }

    pub(crate) fn send(&self, mut stream: &TcpStream) -> io::Result<()> {
        let body = if self.body.is_null() { String::new() } else { self.body.to_string() };
        let mut text = format_head(self.status, "application/json");
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes())
    }
}

/// Starts a stream of events, which ends with the connection.
pub(crate) fn begin_stream(mut stream: &TcpStream) -> io::Result<()> {
    let text = format_head(200, "text/event-stream") + "cache-control: no-cache\r\n\r\n";
    stream.write_all(text.as_bytes())
}

fn format_head(status: u16, kind: &str) -> String {
    format!("HTTP/1.1 {status} {}\r\ncontent-type: {kind}\r\nconnection: close\r\n", reason_phrase(status))
}

fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Answer",
    }
}
