//! What a whole output comes to: one line about the attempt. Nothing here grows with the output.
use jiff::Zoned;
use ralph_core::attempt::ErrorKind;
use serde::Serialize;

use super::event::AgentEvent;
use super::parser::Counts;
use super::registry::Agent;
use super::reset::Reset;
use super::untold::{Exit, FinalRecord, Outside, untold};

/// How much of the final message is kept; of a longer one, the end.
const FINAL_TEXT: usize = 1 << 20;

/// What an attempt came to, as `ralph agents parse` prints it. `None` is unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename = "attempt")]
pub struct Attempt {
    pub ok: bool,
    pub final_text: Option<String>,
    pub session: Option<String>,
    pub model: Option<String>,
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub error: Option<AttemptError>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttemptError {
    pub kind: ErrorKind,
    pub message: String,
    /// Seconds since 1970.
    pub reset_at: Option<i64>,
}

/// Adds up the events of one attempt.
#[derive(Debug, Default)]
pub struct Summary {
    session: Option<String>,
    model: Option<String>,
    said: Said,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost_usd: Option<f64>,
    trouble: Option<(ErrorKind, String)>,
    /// When the last limit ends, and the moment that this was told.
    reset: Option<Reset>,
    final_record: FinalRecord,
}

#[derive(Debug, Default)]
struct Said {
    message: u64,
    text: String,
}

impl Summary {
    pub fn note(&mut self, event: &AgentEvent) {
        self.final_record.note(event);
        match event {
            AgentEvent::Started { session, model } => {
                self.session = session.clone().or(self.session.take());
                self.model = model.clone().or(self.model.take());
            }
            AgentEvent::Text { message, text } => {
                self.said.hear(*message, text);
                self.trouble = None;
            }
            AgentEvent::Prompted => self.said = Said::default(),
            // What it said last is not known.
            AgentEvent::Unread => self.said = Said::default(),
            AgentEvent::Usage { input_tokens, output_tokens, cost_usd } => {
                self.input_tokens = plus(self.input_tokens, *input_tokens, u64::saturating_add);
                self.output_tokens = plus(self.output_tokens, *output_tokens, u64::saturating_add);
                self.cost_usd = plus(self.cost_usd, *cost_usd, |sum, more| sum + more);
            }
            AgentEvent::RateLimit { reset, .. } => self.reset = Some(reset.clone()),
            AgentEvent::Error { kind, message, fatal: true } => {
                self.trouble = Some((*kind, message.clone()));
            }
            AgentEvent::Error { fatal: false, .. }
            | AgentEvent::Finished { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::AtWork => {}
        }
    }

    /// Returns the sum. `now` gives times of day and times to wait their meaning.
    #[must_use]
    pub fn attempt(self, agent: &dyn Agent, counts: Counts, exit: Exit, now: &Zoned) -> Attempt {
        let failure = self.failure(agent, counts, exit);
        let reset = self.reset.as_ref().and_then(|reset| reset.moment(now));
        let error = failure.map(|(kind, message)| AttemptError {
            kind,
            message,
            reset_at: reset.filter(|_| kind == ErrorKind::RateLimit),
        });
        Attempt {
            ok: error.is_none(),
            final_text: Some(self.said.text).filter(|text| !text.is_empty()),
            session: self.session,
            model: self.model,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cost_usd: self.cost_usd.map(|cost| (cost * 1e9).round() / 1e9),
            error,
        }
    }

    /// What the agent says about itself counts most, then what its exit means, then what is missing.
    fn failure(&self, agent: &dyn Agent, counts: Counts, exit: Exit) -> Option<(ErrorKind, String)> {
        if let Some(trouble) = &self.trouble {
            return Some(trouble.clone());
        }
        let format = agent.format();
        let is_well = matches!(exit, Exit::Code(0) | Exit::Unknown);
        if is_well && format.is_json() && counts.recognised == 0 {
            let message = "no line of the output is a record of the agent's format";
            return Some((ErrorKind::Format, message.to_owned()));
        }
        let outside = Outside { format, exit, stderr: "", stray_line: "", final_record: self.final_record };
        untold(agent, &outside).or_else(|| of_exit(exit))
    }
}

fn of_exit(exit: Exit) -> Option<(ErrorKind, String)> {
    let message = match exit {
        Exit::Code(0) | Exit::Unknown => return None,
        Exit::Code(code) => format!("the agent exited with code {code}"),
        Exit::Signal(signal) => format!("the agent was killed by signal {signal}"),
    };
    Some((ErrorKind::Crash, message))
}

impl Said {
    fn hear(&mut self, message: u64, text: &str) {
        if self.message != message {
            *self = Self { message, text: String::new() };
        }
        self.text.push_str(text);
        if self.text.len() > 2 * FINAL_TEXT {
            let from = self.text.len() - FINAL_TEXT;
            let from = (from..).find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
            self.text.drain(..from);
        }
    }
}

fn plus<T>(sum: Option<T>, more: Option<T>, add: impl FnOnce(T, T) -> T) -> Option<T> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(add(sum, more)),
        (known, None) | (None, known) => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{find, tests::read};

    fn attempt(agent: &str, stream: &str, exit: Exit) -> Attempt {
        let agent = find(agent).unwrap();
        let (events, counts) = read(agent.format(), &[stream.as_bytes()]);
        let mut summary = Summary::default();
        events.iter().for_each(|event| summary.note(event));
        summary.attempt(agent, counts, exit, &"2026-11-15T22:00:00+00:00[UTC]".parse().unwrap())
    }

    fn kind(attempt: &Attempt) -> Option<ErrorKind> {
        attempt.error.as_ref().map(|error| error.kind)
    }

    const SAID: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hello"}]}}"#;

    #[test] // spec: A8
    fn exit_code_0_without_the_final_record_is_no_success() {
        let cut = attempt("claude", SAID, Exit::Code(0));
        assert_eq!((cut.ok, kind(&cut)), (false, Some(ErrorKind::Crash)));
        assert_eq!(cut.final_text.as_deref(), Some("hello"));
        let whole = format!("{SAID}\n{{\"type\":\"result\",\"is_error\":false}}");
        assert!(attempt("claude", &whole, Exit::Code(0)).ok);
        assert!(attempt("claude", &whole, Exit::Unknown).ok);
        assert_eq!(kind(&attempt("claude", &whole, Exit::Code(7))), Some(ErrorKind::Crash));
        assert_eq!(kind(&attempt("claude", &whole, Exit::Signal(15))), Some(ErrorKind::Crash));
    }

    #[test] // spec: A8
    fn an_output_in_another_format_or_none_at_all_is_a_failure_of_format() {
        for stream in ["", "hello\nworld", "{}", "[1,2]", "\u{0}\u{1}"] {
            let attempt = attempt("codex", stream, Exit::Code(0));
            assert_eq!((attempt.ok, kind(&attempt)), (false, Some(ErrorKind::Format)), "{stream:?}");
        }
        assert!(attempt("text", "", Exit::Code(0)).ok, "a plain program may be silent");
    }

    #[test] // spec: A8
    fn exit_codes_have_the_meaning_that_the_agent_gives_them() {
        let init = r#"{"type":"init","session_id":"s","model":"m"}"#;
        let table = [(145, ErrorKind::Auth), (173, ErrorKind::RateLimit), (53, ErrorKind::Budget)];
        for (code, expected) in table {
            assert_eq!(kind(&attempt("gemini", init, Exit::Code(code))), Some(expected), "{code}");
        }
    }

    #[test] // spec: A4, A8
    fn of_an_endless_message_the_end_is_kept() {
        let stream = format!("{}<promise>X</promise>", "é".repeat(3 * FINAL_TEXT));
        let text = attempt("text", &stream, Exit::Code(0)).final_text.unwrap();
        assert!(text.len() < 3 * FINAL_TEXT && text.ends_with("<promise>X</promise>"));
    }

    #[test] // spec: A8
    fn the_line_has_every_member_and_unknown_is_null() {
        let line = serde_json::to_string(&attempt("text", "hi", Exit::Code(0))).unwrap();
        assert_eq!(
            line,
            r#"{"event":"attempt","ok":true,"final_text":"hi","session":null,"model":null,"input_tokens":null,"output_tokens":null,"cost_usd":null,"error":null}"#
        );
    }
}
