//! Tests over HTTP: each dialect as its clients see it, and all kinds of failures.
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::request_log::RequestLog;
use crate::scripted_model::ScriptedModel;
use crate::{listen, script};

struct Server {
    port: u16,
    folder: tempfile::TempDir,
}

impl Server {
    fn with(steps: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = RequestLog::create(&folder.path().join("log")).unwrap();
        let port = listen(ScriptedModel::new(script::parse_script(&steps.to_string()).unwrap(), log)).unwrap();
        Self { port, folder }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    /// Sends a request, and returns the whole answer.
    fn ask(&self, path: &str, body: &Value) -> String {
        self.send(&post(path, body))
    }

    fn send(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn log(&self) -> Vec<Value> {
        read_log(&self.folder.path().join("log"))
    }
}

fn read_log(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn post(path: &str, body: &Value) -> String {
    let body = body.to_string();
    format!("POST {path} HTTP/1.1\r\nhost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn tool(name: &str, arguments: &[&str]) -> Value {
    let properties: serde_json::Map<_, _> =
        arguments.iter().map(|argument| ((*argument).to_owned(), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": arguments});
    json!({"name": name, "input_schema": schema, "parameters": schema, "parametersJsonSchema": schema})
}

/// A request that offers one tool, in each dialect, with its path.
fn dialects(tool: &Value) -> [(&'static str, Value); 4] {
    [
        ("/v1/messages?beta=true", json!({"stream": true, "tools": [tool]})),
        ("/v1/responses", json!({"stream": true, "tools": [tool]})),
        ("/v1/chat/completions", json!({"stream": true, "tools": [{"type": "function", "function": tool}]})),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", json!({"tools": [{"functionDeclarations": [tool]}]})),
    ]
}

/// Returns the JSON objects of a stream.
fn frames(answer: &str) -> Vec<Value> {
    assert!(answer.contains("content-type: text/event-stream"), "{answer}");
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// Returns the text that a client of any dialect assembles from the chunks.
fn text_of(frames: &[Value]) -> String {
    let piece = |frame: &Value| {
        let gemini = &frame["candidates"][0]["content"]["parts"][0]["text"];
        let chat = &frame["choices"][0]["delta"]["content"];
        let messages = &frame["delta"]["text"];
        let responses = &frame["delta"];
        [gemini, chat, messages, responses].iter().find_map(|text| text.as_str().map(str::to_owned))
    };
    frames.iter().filter_map(piece).collect()
}

#[test] // spec: A10
fn each_dialect_streams_the_text_of_its_step_and_the_last_step_repeats() {
    for (path, body) in dialects(&tool("Write", &[])) {
        let server = Server::with(&json!([{"say": "one"}, {"say": "two and more"}]));
        assert_eq!(text_of(&frames(&server.ask(path, &body))), "one", "{path}");
        assert_eq!(text_of(&frames(&server.ask(path, &body))), "two and more", "{path}");
        assert_eq!(text_of(&frames(&server.ask(path, &body))), "two and more", "{path}");
    }
}

#[test] // spec: A10
fn without_a_stream_the_same_answer_is_sent_whole() {
    for (path, mut body) in dialects(&tool("Write", &[])) {
        let server = Server::with(&json!([{"say": "in one piece"}]));
        body["stream"] = json!(false);
        let path = path.replace("streamGenerateContent?alt=sse", "generateContent");
        let answer = server.ask(&path, &body);
        assert!(answer.contains("content-type: application/json"), "{answer}");
        let (_, json) = answer.split_once("\r\n\r\n").unwrap();
        assert!(serde_json::from_str::<Value>(json).unwrap().to_string().contains("in one piece"), "{json}");
    }
}

#[test] // spec: A10
fn a_file_is_written_by_the_tool_that_the_agent_offers() {
    let step = json!([{"write": {"path": "a.txt", "content": "hello\n"}}]);
    let tool = tool("write_file", &["file_path", "content", "description"]);
    for (path, body) in dialects(&tool) {
        let answer = Server::with(&step).ask(path, &body);
        assert!(answer.contains("write_file"), "{answer}");
        let plain = answer.replace('\\', "");
        assert!(plain.contains(r#""file_path":"a.txt""#), "{path}: {answer}");
        assert!(plain.contains(r#""description":"scripted""#), "{path}: {answer}");
    }
}

#[test] // spec: A10
fn a_patch_is_free_text() {
    let step = json!([{"write": {"path": "a.txt", "content": "hello\n"}}]);
    let body = json!({"stream": true, "tools": [{"type": "custom", "name": "apply_patch"}]});
    let frames = frames(&Server::with(&step).ask("/v1/responses", &body));
    let item = &frames.last().unwrap()["response"]["output"][0];
    assert_eq!(item["type"], "custom_tool_call");
    assert_eq!(item["input"], "*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\n");
}

#[test] // spec: A10
fn a_missing_tool_is_reported_as_text() {
    let server = Server::with(&json!([{"run": "true"}]));
    let (path, body) = dialects(&tool("Glob", &["pattern"]))[0].clone();
    let sent_text = text_of(&frames(&server.ask(path, &body)));
    assert!(sent_text.contains("no such tool") && sent_text.contains("Glob"), "{sent_text}");
}

#[test] // spec: A10
fn each_dialect_refuses_with_its_own_status_headers_and_body() {
    let step = json!([{"refuse": {"status": 429, "retry_after": 7, "resets_at": 1_794_790_000}},
        {"refuse": {"status": 401}}, {"refuse": {"status": 529}}]);
    let marks =
        ["anthropic-ratelimit-unified-reset: 1794790000", "usage_limit_reached", "rate_limit_exceeded", "PerDay"];
    for ((path, body), mark) in dialects(&tool("Write", &[])).iter().zip(marks) {
        let server = Server::with(&step);
        let limited = server.ask(path, body);
        assert!(limited.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{limited}");
        assert!(limited.contains("retry-after: 7\r\n") && limited.contains(mark), "{limited}");
        assert!(server.ask(path, body).starts_with("HTTP/1.1 401 Unauthorized\r\n"));
        assert!(server.ask(path, body).starts_with("HTTP/1.1 529 "));
    }
}

#[test] // spec: A10
fn a_refusal_can_last_until_a_file_exists() {
    let gate = tempfile::tempdir().unwrap();
    let open = gate.path().join("open");
    let server = Server::with(&json!([{"refuse": {"status": 429, "until": open}}, {"say": "in"}]));
    let (path, body) = dialects(&tool("Write", &[]))[0].clone();
    for _ in 0..3 {
        assert!(server.ask(path, &body).starts_with("HTTP/1.1 429"));
    }
    std::fs::write(&open, "").unwrap();
    assert_eq!(text_of(&frames(&server.ask(path, &body))), "in");
}

#[test] // spec: A10
fn a_cut_stream_has_started_and_has_no_proper_end() {
    for (path, body) in dialects(&tool("Write", &[])) {
        let server = Server::with(&json!([{"cut": "one two three four five six"}]));
        let answer = server.ask(path, &body);
        let sent_text = text_of(&frames(&answer));
        assert!(sent_text.starts_with("one") && !sent_text.contains("six"), "{path}: {answer}");
        for end in ["message_stop", "response.completed", "[DONE]", "STOP"] {
            assert!(!answer.contains(end), "{path}: {answer}");
        }
    }
}

#[test] // spec: A10
fn the_disconnect_of_a_waiting_client_is_logged() {
    let server = Server::with(&json!([{"hang": "before_headers"}, {"hang": {"mid_stream": "one two three"}}]));
    let (path, body) = dialects(&tool("Write", &[]))[0].clone();
    let mut silent = server.connect();
    silent.write_all(post(path, &body).as_bytes()).unwrap();
    wait_for(&server, 1);
    let mut started = server.connect();
    started.write_all(post(path, &body).as_bytes()).unwrap();
    let mut head = [0; 64];
    started.read_exact(&mut head).unwrap();
    assert!(head.starts_with(b"HTTP/1.1 200 OK"));
    drop(started);
    wait_for(&server, 3);
    drop(silent);
    wait_for(&server, 4);
    let events: Vec<Value> = server.log().iter().map(|line| json!([line["event"], line["number"]])).collect();
    assert_eq!(
        events,
        [json!(["step_request", 0]), json!(["step_request", 1]), json!(["disconnect", 1]), json!(["disconnect", 0])]
    );
}

fn wait_for(server: &Server, lines: usize) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while server.log().len() < lines {
        assert!(std::time::Instant::now() < deadline, "{:?}", server.log());
        std::thread::yield_now();
    }
}

#[test] // spec: A10
fn requests_without_tools_are_answered_and_take_no_step() {
    let server = Server::with(&json!([{"say": "the work"}]));
    assert!(server.send("HEAD / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    assert!(server.send("GET /v1/models HTTP/1.1\r\n\r\n").contains("\"scripted\""));
    assert!(server.send("GET /elsewhere HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    let title = server.ask("/v1/chat/completions", &json!({"stream": true, "messages": []}));
    assert_eq!(text_of(&frames(&title)), "A scripted title");
    let (path, body) = dialects(&tool("Write", &[]))[0].clone();
    assert_eq!(text_of(&frames(&server.ask(path, &body))), "the work");
    let others = server.log().iter().filter(|line| line["event"] == "other_request").count();
    assert_eq!(others, 4);
}

#[test] // spec: A10
fn a_chunked_body_is_read_and_logged() {
    let server = Server::with(&json!([{"say": "heard"}]));
    let (path, body) = dialects(&tool("Write", &[]))[0].clone();
    let body = body.to_string();
    let (first, rest) = body.split_at(5);
    let request = format!(
        "POST {path} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{first}\r\n{:x}\r\n{rest}\r\n0\r\n\r\n",
        rest.len()
    );
    assert_eq!(text_of(&frames(&server.send(&request))), "heard");
    assert_eq!(server.log()[0]["body"]["stream"], true);
}

#[test] // spec: A10
fn a_script_with_an_unknown_step_or_none_is_refused() {
    assert!(script::parse_script(r#"[{"sing": "la"}]"#).is_err());
    assert!(script::parse_script("[]").is_err());
}
