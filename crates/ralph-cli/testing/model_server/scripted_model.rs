//! Answers requests from the script. The order is always: choose the step, record the request, answer.
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::dialect::{self, Dialect};
use crate::http::{self, Request};
use crate::judge::{JudgeQuestion, JudgeStep};
use crate::reply::{Frame, Reply, ToolCall, Turn};
use crate::request_log::RequestLog;
use crate::script::{HangPoint, HeldAnswer, ScriptPosition, ScriptStep};
use crate::tools;
use crate::unscripted_requests;

/// How often an answer that waits for a file looks for it.
const RELEASE_POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(crate) struct ScriptedModel {
    script: Vec<ScriptStep>,
    /// The steps of the judge; without any it judges honestly.
    judge_steps: Vec<JudgeStep>,
    judged_count: AtomicUsize,
    position: Mutex<ScriptPosition>,
    /// How many requests have taken a step.
    taken_count: AtomicUsize,
    log: RequestLog,
}

/// One request to the model, with its connection, dialect and turn.
struct Exchange<'a> {
    stream: &'a TcpStream,
    dialect: &'static Dialect,
    request: &'a Request,
    turn: Turn,
}

impl ScriptedModel {
    pub(crate) fn new(script: Vec<ScriptStep>, log: RequestLog) -> Self {
        let judge_steps = script.iter().filter_map(|step| match step {
            ScriptStep::Judge(step) => Some(step.clone()),
            ScriptStep::Say(_)
            | ScriptStep::SayWhen(_)
            | ScriptStep::Write(_)
            | ScriptStep::Run(_)
            | ScriptStep::Tool(_)
            | ScriptStep::Refuse(_)
            | ScriptStep::Cut(_)
            | ScriptStep::Hang(_) => None,
        });
        let judge_steps = judge_steps.collect();
        let script = script.into_iter().filter(|step| !matches!(step, ScriptStep::Judge(_))).collect();
        let (position, taken_count, judged_count) = (Mutex::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        Self { script, judge_steps, judged_count, position, taken_count, log }
    }

    /// Answers the one request of a connection.
    pub(crate) fn handle_connection(&self, stream: &TcpStream) -> io::Result<()> {
        let Some(request) = http::read_request(stream)? else { return Ok(()) };
        let Some(dialect) = dialect::find_dialect(&request) else {
            self.log.record_other_request(&request)?;
            return unscripted_requests::answer_request(&request).send(stream);
        };
        if let Some(question) = JudgeQuestion::from_request(&request, dialect) {
            self.log.record_other_request(&request)?;
            let number = self.judged_count.fetch_add(1, Ordering::SeqCst);
            return match self.judge_steps.get(number).or(self.judge_steps.last()) {
                Some(step) => question.perform(step, stream),
                None => {
                    let exchange = Exchange { stream, dialect, request: &request, turn: Turn(0) };
                    exchange.send_reply(&question.honest_reply())
                }
            };
        }
        let has_tools = !(dialect.tools)(&request.body).is_empty();
        if !has_tools {
            self.log.record_other_request(&request)?;
            let exchange = Exchange { stream, dialect, request: &request, turn: Turn(0) };
            return exchange.send_reply(&unscripted_requests::reply_without_tools(&request));
        }
        let number = self.taken_count.fetch_add(1, Ordering::SeqCst);
        self.log.record_step_request(&request, number)?;
        let exchange = Exchange { stream, dialect, request: &request, turn: Turn(number + 1) };
        self.perform(&exchange, number)
    }

    fn perform(&self, exchange: &Exchange<'_>, number: usize) -> io::Result<()> {
        let step = self.position.lock().unwrap_or_else(PoisonError::into_inner).take(&self.script);
        // `script::parse_script` refuses an empty script.
        let Some(step) = step else { return Ok(()) };
        let offered = (exchange.dialect.tools)(&exchange.request.body);
        match step {
            ScriptStep::Say(text) => exchange.send_reply(&Reply::Text(text.clone())),
            ScriptStep::SayWhen(held) => self.say_when_released(exchange, held, number),
            ScriptStep::Write(file) => exchange.send_call(tools::call_that_writes(&offered, file)),
            ScriptStep::Run(command) => exchange.send_call(tools::call_that_runs(&offered, command)),
            ScriptStep::Tool(call) => exchange.send_call(tools::call_by_name(&offered, call, &exchange.request.body)),
            ScriptStep::Refuse(refusal) => (exchange.dialect.refusal)(refusal).send(exchange.stream),
            ScriptStep::Cut(text) => exchange.send_first_half(text),
            // `new` has removed these from the script.
            ScriptStep::Judge(_) => Ok(()),
            ScriptStep::Hang(HangPoint::BeforeHeaders) => self.wait_for_disconnect(exchange, number),
            ScriptStep::Hang(HangPoint::MidStream(text)) => {
                // A write error means that the client has disconnected.
                match exchange.send_first_half(text) {
                    Ok(()) => self.wait_for_disconnect(exchange, number),
                    Err(_) => self.log.record_disconnect(number),
                }
            }
        }
    }

    /// Answers once the file exists, unless the client disconnects before.
    fn say_when_released(&self, exchange: &Exchange<'_>, held: &HeldAnswer, number: usize) -> io::Result<()> {
        exchange.stream.set_read_timeout(Some(RELEASE_POLL_INTERVAL))?;
        let mut stream = exchange.stream;
        while !held.exists.exists() {
            match stream.read(&mut [0; 1024]) {
                Ok(0) => return self.log.record_disconnect(number),
                Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return self.log.record_disconnect(number);
                }
                Ok(_) | Err(_) => {}
            }
        }
        exchange.send_reply(&Reply::Text(held.text.clone()))
    }

    /// Does not answer until the client disconnects.
    fn wait_for_disconnect(&self, exchange: &Exchange<'_>, number: usize) -> io::Result<()> {
        let mut ignored = [0; 1024];
        let mut stream = exchange.stream;
        while let Ok(1..) = stream.read(&mut ignored) {}
        self.log.record_disconnect(number)
    }
}

impl Exchange<'_> {
    fn send_call(&self, call: Result<ToolCall, String>) -> io::Result<()> {
        match call {
            Ok(call) => self.send_reply(&Reply::ToolCall(call)),
            // The agent prints this text, so that the failed test shows the reason.
            Err(reason) => self.send_reply(&Reply::Text(format!("The model server has no such tool: {reason}"))),
        }
    }

    fn send_reply(&self, reply: &Reply) -> io::Result<()> {
        if !(self.dialect.wants_stream)(self.request) {
            return http::Answer::ok((self.dialect.whole_answer)(reply, self.turn)).send(self.stream);
        }
        http::begin_stream(self.stream)?;
        self.send(&(self.dialect.frames)(reply, self.turn))
    }

    /// Sends the first half of an answer.
    fn send_first_half(&self, text: &str) -> io::Result<()> {
        let frames = (self.dialect.frames)(&Reply::Text(text.to_owned()), self.turn);
        http::begin_stream(self.stream)?;
        self.send(&frames[..frames.len() / 2])
    }

    fn send(&self, frames: &[Frame]) -> io::Result<()> {
        let text: String = frames.iter().map(Frame::text).collect();
        let mut stream = self.stream;
        stream.write_all(text.as_bytes())
    }
}
