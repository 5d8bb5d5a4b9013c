//! Gemini's `stream-json` as events. It repeats the prompt as a user's message, speaks in pieces, and has no cost.
//! Whatever goes wrong is told again, for good, by its result.
use crate::classify;
use crate::detail;
use crate::event::{AgentEvent, ErrorKind};
use crate::failing::fatal;
use crate::members::{members, whole_line};
use crate::parser::{JsonStream, Parser, Records, Seen};
use crate::voice::Voice;
use ralph_util::json::{self, Malformed};

members!(
    Record {
        kind: b"type",
        session: b"session_id",
        model: b"model",
        role: b"role",
        content: b"content",
        delta: b"delta",
        tool: b"tool_name",
        parameters: b"parameters",
        status: b"status",
        output: b"output",
        severity: b"severity",
        message: b"message",
    }
    nested { error: b"error" => Failure, stats: b"stats" => Stats }
);
whole_line!(Record);

members!(Failure { message: b"message" });

members!(Stats { input: b"input_tokens", output: b"output_tokens" });

/// A hook stopped the agent's stop: what it asks for next is a prompt.
const BLOCKED: &str = "Agent execution blocked";

pub(crate) fn parser() -> impl Parser {
    JsonStream::<Reader>::default()
}

#[derive(Debug, Default)]
struct Reader {
    voice: Voice,
}

impl Records for Reader {
    fn record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<Seen, Malformed> {
        let record = Record::of_line(line)?;
        match json::name(record.kind) {
            "init" => out.push(AgentEvent::Started {
                session: json::string(record.session),
                model: json::string(record.model),
            }),
            "message" => self.message(&record, out),
            "tool_use" => {
                self.voice.pause();
                out.push(tool_call(&record));
            }
            "tool_result" => {
                self.voice.pause();
                out.push(tool_result(&record));
            }
            "error" => self.error(&record, out),
            "result" => result(&record, out),
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Recognised)
    }
}

impl Reader {
    fn message(&mut self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        let Some(text) = json::string(record.content) else { return };
        match json::name(record.role) {
            "assistant" if json::is_true(record.delta) => out.push(self.voice.piece(text)),
            "assistant" => out.extend(self.voice.whole(None, text)),
            _ => {
                self.voice.pause();
                out.push(AgentEvent::Prompted);
            }
        }
    }

    fn error(&mut self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        self.voice.pause();
        let message = json::string(record.message).unwrap_or_default();
        if message.starts_with(BLOCKED) {
            out.push(AgentEvent::Prompted);
            return;
        }
        let kind = match json::name(record.severity) {
            "warning" => ErrorKind::Unknown,
            _ => classify::by_words(&message),
        };
        out.push(AgentEvent::Error { kind, message, fatal: false });
    }
}

fn tool_call(record: &Record<'_>) -> AgentEvent {
    let name = json::start_of_string(record.tool, 80).unwrap_or_default();
    AgentEvent::ToolCall { name, detail: detail::of_input(record.parameters) }
}

fn tool_result(record: &Record<'_>) -> AgentEvent {
    let error = record.error.and_then(|error| error.message);
    let ok = json::name(record.status) != "error" && record.error.is_none();
    AgentEvent::ToolResult { ok, excerpt: detail::excerpt(error.or(record.output)) }
}

fn result(record: &Record<'_>, out: &mut Vec<AgentEvent>) {
    let stats = record.stats.unwrap_or_default();
    let (input_tokens, output_tokens) = (json::count(stats.input), json::count(stats.output));
    if input_tokens.is_some() || output_tokens.is_some() {
        out.push(AgentEvent::Usage { input_tokens, output_tokens, cost_usd: None });
    }
    let ok = json::name(record.status) == "success";
    if !ok {
        let message = record.error.and_then(|error| json::string(error.message)).unwrap_or_default();
        fatal(classify::by_words(&message), message, out);
    }
    out.push(AgentEvent::Finished { ok });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{events, final_text};
    use crate::{Format, Reset};

    fn said(role: &str, text: &str) -> String {
        format!(r#"{{"type":"message","role":"{role}","content":"{text}","delta":true}}"#)
    }

    #[test] // spec: S2, S4
    fn the_prompt_that_it_repeats_is_not_its_own() {
        let stream = [said("user", "print <promise>X</promise>"), said("assistant", "Working.")].join("\n");
        assert_eq!(final_text(&events(Format::Gemini, &stream)), "Working.");
    }

    #[test] // spec: S4
    fn a_tool_call_parts_two_messages() {
        let tool = r#"{"type":"tool_use","tool_name":"write_file","parameters":{"file_path":"a"}}"#;
        let stream = [&said("assistant", "<promise>"), &said("assistant", "X</promise>"), tool].join("\n");
        assert_eq!(final_text(&events(Format::Gemini, &stream)), "<promise>X</promise>");
        let stream = [&stream, &said("assistant", "not yet")].map(String::as_str).join("\n");
        assert_eq!(final_text(&events(Format::Gemini, &stream)), "not yet");
    }

    #[test] // spec: S4
    fn what_was_said_before_a_hook_sent_it_back_to_work_is_not_final() {
        let blocked = r#"{"type":"error","severity":"warning","message":"Agent execution blocked: go on"}"#;
        let stream = [&said("assistant", "<promise>X</promise>"), blocked].join("\n");
        assert_eq!(final_text(&events(Format::Gemini, &stream)), "");
    }

    #[test] // spec: L6
    fn a_quota_that_says_when_it_is_back_is_a_limit() {
        let stream = r#"{"type":"result","status":"error","error":{"type":"unknown","message":
            "[API Error: You exceeded your current quota, check your plan and billing. Please retry in 39.7s.]"}}"#
            .replace('\n', "");
        let found = events(Format::Gemini, &stream);
        assert!(
            matches!(&found[0], AgentEvent::RateLimit { reset: Reset::After { retry_after_ms: 39_700 }, .. }),
            "{found:?}"
        );
        assert!(matches!(&found[1], AgentEvent::Error { kind: ErrorKind::RateLimit, fatal: true, .. }));
    }
}
