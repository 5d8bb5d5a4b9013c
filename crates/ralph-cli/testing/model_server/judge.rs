//! Questions to a judge. Without judge steps in the script it judges honestly: the criterion of the tests is always a
//! greeting, which is met if the diff adds the line `hello`.
use std::io::{self, Read, Write};
use std::net::TcpStream;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::http::{Answer, Request};
use crate::reply::{Reply, ToolCall, ToolInput, Turn};
use crate::script::Refusal;

/// How a judge answers one question. The last step repeats.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JudgeStep {
    /// Answers with this text; `{id}` is replaced by the id of the question.
    Say(String),
    /// Answers with this body as it is.
    Body(String),
    Refuse(Refusal),
    /// Redirects to another address.
    Point(String),
    /// Announces a longer body than this one, and closes the connection after it.
    Cut(String),
    /// Sends this number of bytes.
    Flood(usize),
    /// Never answers.
    Hang,
}

/// A question to a judge, and its id.
pub(crate) struct JudgeQuestion<'a> {
    pub(crate) request: &'a Request,
    pub(crate) dialect: &'static Dialect,
    id: String,
}

impl<'a> JudgeQuestion<'a> {
    /// Returns the question, if the request is one.
    pub(crate) fn from_request(request: &'a Request, dialect: &'static Dialect) -> Option<Self> {
        let body = request.body.to_string();
        let (_, after) = body.split_once("-----BEGIN CRITERIA ")?;
        Some(Self { request, dialect, id: after.get(..32)?.to_owned() })
    }

    pub(crate) fn honest_reply(&self) -> Reply {
        let met = self.request.body.to_string().contains("\\n+hello");
        let quotation = if met { "hello" } else { "" };
        let finding = json!({"criterion": 1, "met": met, "quotation": quotation, "reason": "I looked for it"});
        self.reply(&json!({"id": self.id, "findings": [finding]}).to_string())
    }

    /// Returns JSON as a tool call if the request requires one, and everything else as text.
    fn reply(&self, text: &str) -> Reply {
        let tool = self.request.body["tool_choice"]["name"].as_str();
        match (tool, serde_json::from_str::<Value>(text)) {
            (Some(tool), Ok(input)) => {
                Reply::ToolCall(ToolCall { tool: tool.to_owned(), input: ToolInput::Named(input) })
            }
            (_, _) => Reply::Text(text.to_owned()),
        }
    }

    pub(crate) fn perform(&self, step: &JudgeStep, mut stream: &TcpStream) -> io::Result<()> {
        match step {
            JudgeStep::Say(text) => {
                let reply = self.reply(&text.replace("{id}", &self.id));
                Answer::ok((self.dialect.whole_answer)(&reply, Turn(0))).send(stream)
            }
            JudgeStep::Body(body) => stream
                .write_all(format_head(200, body.len()).as_bytes())
                .and_then(|()| stream.write_all(body.as_bytes())),
            JudgeStep::Refuse(refusal) => (self.dialect.refusal)(refusal).send(stream),
            JudgeStep::Point(to) => {
                let headers = vec![("location", to.clone())];
                Answer { status: 307, headers, body: Value::Null }.send(stream)
            }
            JudgeStep::Cut(body) => {
                let text = format_head(200, body.len() + 100) + body;
                stream.write_all(text.as_bytes())
            }
            JudgeStep::Flood(bytes) => {
                stream.write_all(format_head(200, *bytes).as_bytes())?;
                io::copy(&mut io::repeat(b' ').take(*bytes as u64), &mut stream).map(drop)
            }
            JudgeStep::Hang => io::copy(&mut stream, &mut io::sink()).map(drop),
        }
    }
}

fn format_head(status: u16, length: usize) -> String {
    format!(
        "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    )
}
