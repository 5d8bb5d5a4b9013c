//! Summarizes the whole output of an attempt in one record. Memory use does not grow with the output.
use jiff::Zoned;
use ralph_core::attempt::AgentErrorKind;
use serde::Serialize;

use crate::failure::infer_failure::{AgentExit, ExitContext, FinalRecord, infer_failure};
use crate::failure::limit_reset::LimitReset;
use crate::registry::Agent;
use crate::stream::event::{AgentEvent, AgentFailure};
use crate::stream::parser::RecordCounts;

/// How much of the final message is kept. A longer message keeps its end.
const MAX_FINAL_TEXT_BYTES: usize = 1 << 20;

/// The result of an attempt, as `ralph agents parse` prints it. `None` means unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename = "attempt")]
pub struct AttemptSummary {
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
    pub kind: AgentErrorKind,
    pub message: String,
    /// Unix timestamp in seconds.
    pub reset_at: Option<i64>,
}

/// Accumulates the events of one attempt.
#[derive(Debug, Default)]
pub struct AttemptSummaryBuilder {
    session: Option<String>,
    model: Option<String>,
    final_message: FinalMessage,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost_usd: Option<f64>,
    fatal_error: Option<AgentFailure>,
    /// When the last reported rate limit ends.
    reset: Option<LimitReset>,
    final_record: FinalRecord,
}

#[derive(Debug, Default)]
struct FinalMessage {
    number: u64,
    text: String,
}

impl AttemptSummaryBuilder {
    pub fn record_event(&mut self, event: &AgentEvent) {
        self.final_record.record_event(event);
        match event {
            AgentEvent::Started { session, model } => {
                self.session = session.clone().or(self.session.take());
                self.model = model.clone().or(self.model.take());
            }
            AgentEvent::Text { message, text } => {
                self.final_message.append_text(*message, text);
                self.fatal_error = None;
            }
            AgentEvent::Prompted => self.final_message = FinalMessage::default(),
            // The skipped record may have been the final message.
            AgentEvent::Unread => self.final_message = FinalMessage::default(),
            AgentEvent::Usage { input_tokens, output_tokens, cost_usd } => {
                self.input_tokens = add_known(self.input_tokens, *input_tokens, u64::saturating_add);
                self.output_tokens = add_known(self.output_tokens, *output_tokens, u64::saturating_add);
                self.cost_usd = add_known(self.cost_usd, *cost_usd, |sum, more| sum + more);
            }
            AgentEvent::RateLimit { reset, .. } => self.reset = Some(reset.clone()),
            AgentEvent::Error { kind, message, fatal: true } => {
                self.fatal_error = Some(AgentFailure::new(*kind, message.clone()));
            }
            AgentEvent::Error { fatal: false, .. }
            | AgentEvent::Finished { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::PermissionDenied { .. }
            | AgentEvent::AtWork => {}
        }
    }

    /// Returns the summary. Reset times that are relative or a time of day are resolved against `now`.
    #[must_use]
    pub fn into_summary(self, agent: &dyn Agent, counts: RecordCounts, exit: AgentExit, now: &Zoned) -> AttemptSummary {
        let failure = self.find_failure(agent, counts, exit);
        let reset = self.reset.as_ref().and_then(|reset| reset.resolve_timestamp(now));
        let error = failure.map(|AgentFailure { kind, message }| AttemptError {
            kind,
            message,
            reset_at: reset.filter(|_| kind == AgentErrorKind::RateLimit),
        });
        AttemptSummary {
            ok: error.is_none(),
            final_text: Some(self.final_message.text).filter(|text| !text.is_empty()),
            session: self.session,
            model: self.model,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cost_usd: self.cost_usd.map(|cost| (cost * 1e9).round() / 1e9),
            error,
        }
    }

    /// Prefers an error that the agent reported, then the meaning of its exit, then missing records.
    fn find_failure(&self, agent: &dyn Agent, counts: RecordCounts, exit: AgentExit) -> Option<AgentFailure> {
        if let Some(failure) = &self.fatal_error {
            return Some(failure.clone());
        }
        let format = agent.output_format();
        let exited_cleanly = matches!(exit, AgentExit::Code(0) | AgentExit::Unknown);
        if exited_cleanly && format.is_json() && counts.recognised == 0 {
            let message = "the output contains no record in the agent's format";
            return Some(AgentFailure::new(AgentErrorKind::Format, message));
        }
        let context = ExitContext { format, exit, stderr: "", stray_line: "", final_record: self.final_record };
        infer_failure(agent, &context).or_else(|| failure_from_exit(exit))
    }
}

fn failure_from_exit(exit: AgentExit) -> Option<AgentFailure> {
    let message = match exit {
        AgentExit::Code(0) | AgentExit::Unknown => return None,
        AgentExit::Code(code) => format!("the agent exited with code {code}"),
        AgentExit::Signal(signal) => format!("the agent was killed by signal {signal}"),
    };
    Some(AgentFailure::new(AgentErrorKind::Crash, message))
}

impl FinalMessage {
    fn append_text(&mut self, message: u64, text: &str) {
        if self.number != message {
            *self = Self { number: message, text: String::new() };
        }
        self.text.push_str(text);
        if self.text.len() > 2 * MAX_FINAL_TEXT_BYTES {
            let from = self.text.len() - MAX_FINAL_TEXT_BYTES;
            let from = (from..).find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
            self.text.drain(..from);
        }
    }
}

fn add_known<T>(sum: Option<T>, more: Option<T>, add: impl FnOnce(T, T) -> T) -> Option<T> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(add(sum, more)),
        (known, None) | (None, known) => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{find_agent, tests::parse_chunks};

    fn summarize_stream(agent: &str, stream: &str, exit: AgentExit) -> AttemptSummary {
        let agent = find_agent(agent).unwrap();
        let (events, counts) = parse_chunks(agent.output_format(), &[stream.as_bytes()]);
        let mut summary = AttemptSummaryBuilder::default();
        events.iter().for_each(|event| summary.record_event(event));
        summary.into_summary(agent, counts, exit, &"2026-11-15T22:00:00+00:00[UTC]".parse().unwrap())
    }

    fn error_kind(attempt: &AttemptSummary) -> Option<AgentErrorKind> {
        attempt.error.as_ref().map(|error| error.kind)
    }

    const ASSISTANT_LINE: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hello"}]}}"#;

    #[test] // spec: A8
    fn exit_code_0_without_a_final_record_is_a_failure() {
        let truncated = summarize_stream("claude", ASSISTANT_LINE, AgentExit::Code(0));
        assert_eq!((truncated.ok, error_kind(&truncated)), (false, Some(AgentErrorKind::Crash)));
        assert_eq!(truncated.final_text.as_deref(), Some("hello"));
        let whole = format!("{ASSISTANT_LINE}\n{{\"type\":\"result\",\"is_error\":false}}");
        assert!(summarize_stream("claude", &whole, AgentExit::Code(0)).ok);
        assert!(summarize_stream("claude", &whole, AgentExit::Unknown).ok);
        assert_eq!(error_kind(&summarize_stream("claude", &whole, AgentExit::Code(7))), Some(AgentErrorKind::Crash));
        assert_eq!(error_kind(&summarize_stream("claude", &whole, AgentExit::Signal(15))), Some(AgentErrorKind::Crash));
    }

    #[test] // spec: A8
    fn output_without_a_single_record_is_a_format_error() {
        for stream in ["", "hello\nworld", "{}", "[1,2]", "\u{0}\u{1}"] {
            let attempt = summarize_stream("codex", stream, AgentExit::Code(0));
            assert_eq!((attempt.ok, error_kind(&attempt)), (false, Some(AgentErrorKind::Format)), "{stream:?}");
        }
        assert!(summarize_stream("text", "", AgentExit::Code(0)).ok, "a plain program may print nothing");
    }

    #[test] // spec: A8
    fn exit_codes_are_classified_by_the_agent() {
        let init = r#"{"type":"init","session_id":"s","model":"m"}"#;
        let table = [(145, AgentErrorKind::Auth), (173, AgentErrorKind::RateLimit), (53, AgentErrorKind::Budget)];
        for (code, expected) in table {
            assert_eq!(error_kind(&summarize_stream("gemini", init, AgentExit::Code(code))), Some(expected), "{code}");
        }
    }

    #[test] // spec: A4, A8
    fn an_oversized_message_keeps_its_end() {
        let stream = format!("{}<promise>X</promise>", "é".repeat(3 * MAX_FINAL_TEXT_BYTES));
        let text = summarize_stream("text", &stream, AgentExit::Code(0)).final_text.unwrap();
        assert!(text.len() < 3 * MAX_FINAL_TEXT_BYTES && text.ends_with("<promise>X</promise>"));
    }

    #[test] // spec: A8
    fn the_summary_line_has_every_key_and_unknown_values_are_null() {
        let line = serde_json::to_string(&summarize_stream("text", "hi", AgentExit::Code(0))).unwrap();
        assert_eq!(
            line,
            r#"{"event":"attempt","ok":true,"final_text":"hi","session":null,"model":null,"input_tokens":null,"output_tokens":null,"cost_usd":null,"error":null}"#
        );
    }
}
