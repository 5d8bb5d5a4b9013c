//! Starts `ralph serve` and sends requests to it.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Call, CallOutput, Project, Running, wait_until};

/// A server of a project.
pub struct ServerProcess<'a> {
    pub running: Running<'a>,
    /// `127.0.0.1:PORT`
    pub host: String,
}

/// The answer to a request.
#[derive(Debug)]
pub struct ServerAnswer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl ServerAnswer {
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl<'a> ServerProcess<'a> {
    /// Starts a server on a free port, and waits until it listens.
    pub fn start(project: &'a Project, args: &[&str]) -> Self {
        Self::start_call(project.ralph(["serve", "--port", "0"]).args(args))
    }

    /// The same for a prepared call.
    pub fn start_call(call: Call<'a>) -> Self {
        let running = call.start();
        let address = |text: &str| {
            text.lines().find_map(|line| line.split_once("http://")?.1.split('/').next().map(str::to_owned))
        };
        wait_until("the server has printed its address", || {
            address(&running.stdout_so_far()).is_some() || !running.is_alive()
        });
        let Some(host) = address(&running.stdout_so_far()) else {
            panic!("the server did not start: {}", running.wait_without_invariants().stderr)
        };
        Self { running, host }
    }

    pub fn get(&self, path: &str) -> ServerAnswer {
        self.request("GET", path, &[], "")
    }

    /// Sends JSON.
    pub fn post(&self, path: &str, body: &Value) -> ServerAnswer {
        self.request("POST", path, &[("Content-Type", "application/json")], &body.to_string())
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> ServerAnswer {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if headers.iter().all(|(name, _)| *name != "Host") {
            request.push_str(&format!("Host: {}\r\n", self.host));
        }
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
        read_answer(stream)
    }

    /// Ends the server as an operator does, and checks the invariants.
    pub fn stop(self) -> CallOutput {
        self.running.signal(Signal::TERM);
        self.running.wait().expect(143)
    }
}

fn read_answer(stream: TcpStream) -> ServerAnswer {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "the answer has no end: {head}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = Vec::new();
    reader.read_to_end(&mut body).unwrap();
    ServerAnswer { status, head, body: String::from_utf8(body).unwrap() }
}
