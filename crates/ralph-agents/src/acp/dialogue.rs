//! The talk with an agent: what it says becomes events, and what it must be told next is kept until somebody takes it.
//! Phase by phase: greeting, session, perhaps the model, one prompt, the end. Nothing here waits or does anything.
//! Without something to talk about it only listens: the agent's side of somebody else's talk becomes the same events.
use super::failure;
use super::listening::Echo;
use super::message::{Answer, Message, Notice};
use super::opening::Return;
use super::spend::Books;
use super::tools::Tools;
use super::turn::Turn;
use super::words;
use crate::event::{AgentEvent, ErrorKind};
use crate::failing::fatal;
use crate::parser::{Before, Records, Seen, Talk, Then, Words};
use ralph_util::json::{self, Malformed, Raw};

/// Longer ids no agent gives.
const LONGEST_ID: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Dialogue {
    /// What it is about; `None` where it is somebody else's.
    pub(super) talk: Option<Talk>,
    pub(super) phase: Phase,
    /// The id of our last request.
    pub(super) asked: u64,
    pub(super) return_by: Return,
    pub(super) session: Option<String>,
    pub(super) echo: Echo,
    pub(super) turn: Turn,
    pub(super) tools: Tools,
    pub(super) books: Books,
    pub(super) words: Words,
    pub(super) is_cancelled: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    #[default]
    Greeting,
    Opening,
    ChoosingModel,
    Turn,
    Over,
}

impl Records for Dialogue {
    fn record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<Seen, Malformed> {
        let message = Message::of_line(line)?;
        if json::name(message.version) != "2.0" {
            return Ok(Seen::Unknown);
        }
        match (message.method, message.id.filter(|id| *id != b"null" && id.len() <= LONGEST_ID)) {
            (Some(method), Some(id)) => self.asked_for(id, json::name(Some(method)), message.params, out),
            (Some(method), None) if json::name(Some(method)) == "session/update" => {
                let notice = Notice::of(message.params)?;
                self.updated(&notice, out)?;
            }
            (Some(_), None) => {}
            (None, Some(id)) => self.answered(id, &message, out)?,
            (None, None) => return Ok(Seen::Unknown),
        }
        Ok(Seen::Recognised)
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        let awaited = match self.phase {
            _ if self.talk.is_none() => return,
            Phase::Greeting => {
                "initialize: is it one that speaks the Agent Client Protocol, and told to do so?"
            }
            Phase::Opening => "the request for a session",
            Phase::ChoosingModel => "the choice of the model",
            Phase::Turn => "session/prompt",
            Phase::Over => return,
        };
        let message = format!("the agent ended before it had answered {awaited}");
        self.fail(ErrorKind::Crash, message, out);
    }

    fn continues(&mut self, before: Before) {
        self.books.continue_from(before);
    }

    fn unwatched(&mut self) {
        self.tools.unwatched();
    }

    fn converse(&mut self, talk: Talk) {
        self.talk = Some(talk);
        self.ask(words::initialize);
    }

    fn take_words(&mut self) -> Words {
        std::mem::take(&mut self.words)
    }

    fn interrupt(&mut self) {
        if let (Phase::Turn, Some(_), Some(session), false) =
            (self.phase, &self.talk, &self.session, self.is_cancelled)
        {
            self.is_cancelled = true;
            self.words.bytes.extend(words::cancel(session));
        }
    }

    fn is_opening(&self) -> bool {
        self.talk.is_some() && matches!(self.phase, Phase::Greeting | Phase::Opening | Phase::ChoosingModel)
    }

    fn is_over(&self) -> bool {
        self.talk.is_some() && self.phase == Phase::Over
    }
}

impl Dialogue {
    pub(super) fn ask(&mut self, request: impl FnOnce(u64) -> Vec<u8>) {
        self.asked += 1;
        self.words.bytes.extend(request(self.asked));
    }

    pub(super) fn fail(&mut self, kind: ErrorKind, message: String, out: &mut Vec<AgentEvent>) {
        fatal(kind, message, out);
        self.finish(false, out);
    }

    /// Ends the talk: one process, one prompt.
    pub(super) fn finish(&mut self, ok: bool, out: &mut Vec<AgentEvent>) {
        out.push(AgentEvent::Finished { ok });
        if self.talk.is_some() {
            self.phase = Phase::Over;
            self.words.then = Then::End;
        }
    }

    /// The agent answers a request of ours.
    fn answered(
        &mut self,
        id: Raw<'_>,
        message: &Message<'_>,
        out: &mut Vec<AgentEvent>,
    ) -> Result<(), Malformed> {
        let answer = Answer::of(message.result)?;
        let error = message.error.filter(|error| *error != b"null");
        if !self.is_awaited(id, &answer, error.is_some()) {
            return Ok(());
        }
        if let Some(error) = error {
            let (kind, why) = failure::of_error(error)?;
            self.refused(kind, why, out);
            return Ok(());
        }
        match self.phase {
            Phase::Greeting => self.greeted(&answer, out),
            Phase::Opening => self.opened(&answer, out)?,
            Phase::ChoosingModel => self.prompt(),
            Phase::Turn => self.turn_ended(&answer, out),
            Phase::Over => {}
        }
        Ok(())
    }

    /// Somebody else's requests are not known, but answers differ by what is in them.
    fn is_awaited(&self, id: Raw<'_>, answer: &Answer<'_>, is_error: bool) -> bool {
        if self.talk.is_some() {
            return json::count(Some(id)) == Some(self.asked);
        }
        is_error
            || match self.phase {
                Phase::Greeting => answer.protocol.is_some(),
                Phase::Opening => answer.sessions.is_none(),
                Phase::Turn => answer.stop_reason.is_some(),
                Phase::ChoosingModel | Phase::Over => false,
            }
    }

    fn refused(&mut self, kind: ErrorKind, why: String, out: &mut Vec<AgentEvent>) {
        self.turn.pause(out);
        match self.phase {
            Phase::Greeting => self.fail(kind, format!("the agent refused initialize: {why}"), out),
            Phase::Opening if self.is_lost(kind) => {
                let message = format!("session not found, or of no use to the agent any more: {why}");
                self.fail(kind, message, out);
            }
            Phase::Opening => self.fail(kind, format!("the agent opened no session: {why}"), out),
            Phase::ChoosingModel => {
                self.fail(ErrorKind::Model, format!("the agent refused the model: {why}"), out);
            }
            Phase::Turn => self.fail(kind, why, out),
            Phase::Over => {}
        }
    }

    /// Some agents say no more of a session that is gone than that something went wrong. No model was asked yet, so what
    /// is not a matter of the account is one of the session.
    fn is_lost(&self, kind: ErrorKind) -> bool {
        let is_old = self.talk.as_ref().is_some_and(|talk| talk.session.is_some());
        is_old && !matches!(kind, ErrorKind::Auth | ErrorKind::Budget | ErrorKind::RateLimit)
    }

    pub(super) fn prompt(&mut self) {
        self.phase = Phase::Turn;
        if let (Some(talk), Some(session)) = (&self.talk, self.session.clone()) {
            let prompt = talk.prompt.clone();
            self.ask(|id| words::prompt(id, &session, &prompt));
        }
    }

    fn turn_ended(&mut self, answer: &Answer<'_>, out: &mut Vec<AgentEvent>) {
        self.turn.pause(out);
        let usage = self.books.close(answer);
        let has_answered = usage.is_some();
        out.extend(usage);
        let stop = match json::name(answer.stop_reason) {
            "end_turn" => self.turn.failure().filter(|_| !has_answered),
            "max_tokens" => {
                Some((ErrorKind::Unknown, "the model's answer was cut off at its limit of tokens".into()))
            }
            "max_turn_requests" => {
                Some((ErrorKind::Budget, "the agent reached its maximum number of turns".into()))
            }
            "refusal" => Some((ErrorKind::Unknown, "the agent refused to go on".into())),
            "cancelled" => Some((ErrorKind::Crash, "the agent's turn was cancelled".into())),
            other => {
                Some((ErrorKind::Format, format!("the agent's turn ended for an unknown reason: {other:?}")))
            }
        };
        match stop {
            Some((kind, message)) => self.fail(kind, message, out),
            None => self.finish(true, out),
        }
    }
}
