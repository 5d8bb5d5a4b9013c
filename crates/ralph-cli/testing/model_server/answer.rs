//! Takes a request and answers it from the script. The order is always: choose the step, record, answer.
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::dialect::{self, Dialect};
use crate::http::{self, Request};
use crate::judge::{JudgeStep, Question};
use crate::log::Log;
use crate::reply::{Call, Frame, Reply, Turn};
use crate::script::{Hang, Place, Step};
use crate::side;
use crate::tools;

pub(crate) struct Desk {
    script: Vec<Step>,
    /// What judges do; nothing: they are honest.
    judging: Vec<JudgeStep>,
    judged: AtomicUsize,
    place: Mutex<Place>,
    /// How many requests have taken a step.
    taken: AtomicUsize,
    log: Log,
}

/// One conversation: who asks, in which dialect, for which step.
struct Turned<'a> {
    stream: &'a TcpStream,
    dialect: &'static Dialect,
    request: &'a Request,
    turn: Turn,
}

impl Desk {
    pub(crate) fn new(script: Vec<Step>, log: Log) -> Self {
        let judging = script.iter().filter_map(|step| match step {
            Step::Judge(step) => Some(step.clone()),
            Step::Say(_) | Step::Write(_) | Step::Run(_) | Step::Refuse(_) | Step::Cut(_) | Step::Hang(_) => None,
        });
        let judging = judging.collect();
        let script = script.into_iter().filter(|step| !matches!(step, Step::Judge(_))).collect();
        let (place, taken, judged) = (Mutex::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        Self { script, judging, judged, place, taken, log }
    }

    /// Answers the one request of a connection.
    pub(crate) fn attend(&self, stream: &TcpStream) -> io::Result<()> {
        let Some(request) = http::read(stream)? else { return Ok(()) };
        let Some(dialect) = dialect::of(&request) else {
            self.log.aside(&request)?;
            return side::plain(&request).send(stream);
        };
        if let Some(question) = Question::of(&request, dialect) {
            self.log.aside(&request)?;
            let number = self.judged.fetch_add(1, Ordering::SeqCst);
            return match self.judging.get(number).or(self.judging.last()) {
                Some(step) => question.perform(step, stream),
                None => {
                    let turned = Turned { stream, dialect, request: &request, turn: Turn(0) };
                    turned.say(&question.honest())
                }
            };
        }
        let has_tools = !(dialect.tools)(&request.body).is_empty();
        if !has_tools {
            self.log.aside(&request)?;
            let turned = Turned { stream, dialect, request: &request, turn: Turn(0) };
            return turned.say(&side::reply(&request));
        }
        let number = self.taken.fetch_add(1, Ordering::SeqCst);
        self.log.asked(&request, number)?;
        let turned = Turned { stream, dialect, request: &request, turn: Turn(number + 1) };
        self.perform(&turned, number)
    }

    fn perform(&self, turned: &Turned<'_>, number: usize) -> io::Result<()> {
        let step = self.place.lock().unwrap_or_else(PoisonError::into_inner).take(&self.script);
        // `script::parse` lets no empty script pass.
        let Some(step) = step else { return Ok(()) };
        let offered = (turned.dialect.tools)(&turned.request.body);
        match step {
            Step::Say(text) => turned.say(&Reply::Text(text.clone())),
            Step::Write(file) => turned.call(tools::writing(&offered, file)),
            Step::Run(command) => turned.call(tools::running(&offered, command)),
            Step::Refuse(refusal) => (turned.dialect.refusal)(refusal).send(turned.stream),
            Step::Cut(text) => turned.begin_to_say(text),
            // These were taken out of the script.
            Step::Judge(_) => Ok(()),
            Step::Hang(Hang::BeforeHeaders) => self.wait_until_it_leaves(turned, number),
            Step::Hang(Hang::MidStream(text)) => {
                // A client that leaves in the middle of it cannot be told the rest, and has left all the same.
                match turned.begin_to_say(text) {
                    Ok(()) => self.wait_until_it_leaves(turned, number),
                    Err(_) => self.log.left(number),
                }
            }
        }
    }

    /// Keeps a client waiting for as long as it likes.
    fn wait_until_it_leaves(&self, turned: &Turned<'_>, number: usize) -> io::Result<()> {
        let mut ignored = [0; 1024];
        let mut stream = turned.stream;
        while let Ok(1..) = stream.read(&mut ignored) {}
        self.log.left(number)
    }
}

impl Turned<'_> {
    fn call(&self, call: Result<Call, String>) -> io::Result<()> {
        match call {
            Ok(call) => self.say(&Reply::Call(call)),
            // The agent says it aloud, and the test that wanted a tool shows why it failed.
            Err(why) => self.say(&Reply::Text(format!("The model server has no such tool: {why}"))),
        }
    }

    fn say(&self, reply: &Reply) -> io::Result<()> {
        if !(self.dialect.streams)(self.request) {
            return http::Answer::ok((self.dialect.whole)(reply, self.turn)).send(self.stream);
        }
        http::begin_stream(self.stream)?;
        self.send(&(self.dialect.frames)(reply, self.turn))
    }

    /// Sends the first half of an answer.
    fn begin_to_say(&self, text: &str) -> io::Result<()> {
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
