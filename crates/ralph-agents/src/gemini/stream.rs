//! Parses Gemini's `stream-json` into events. It echoes the prompt as a user message, sends text in pieces, and reports
//! no cost. Every failure is repeated in the result record, which decides.
use crate::failure::classify;
use crate::failure::fatal_error::push_fatal_error;
use crate::stream::event::{AgentErrorKind, AgentEvent};
use crate::stream::members::{members, whole_line};
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::open_tool_calls::OpenToolCalls;
use crate::stream::parser::{JsonLinesParser, RecordReader, RecordStatus, StreamParser};
use crate::stream::tool_summary;
use ralph_util::json::{self, MalformedJson};

members!(
    GeminiRecord {
        kind: b"type",
        session: b"session_id",
        model: b"model",
        role: b"role",
        content: b"content",
        delta: b"delta",
        tool: b"tool_name",
        tool_id: b"tool_id",
        parameters: b"parameters",
        status: b"status",
        output: b"output",
        severity: b"severity",
        message: b"message",
    }
    nested { error: b"error" => GeminiError, stats: b"stats" => GeminiTokenStats }
);
whole_line!(GeminiRecord);

members!(GeminiError { kind: b"type", message: b"message" });

members!(GeminiTokenStats { input: b"input_tokens", output: b"output_tokens" });

/// The prefix of the message that a hook has blocked the end of the turn. The hook's reason is a new prompt.
const BLOCKED_STOP_PREFIX: &str = "Agent execution blocked";

/// The type of the error of a call that a policy denies.
const DENIED_CALL_ERROR: &str = "policy_violation";

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<GeminiStreamReader>::default()
}

#[derive(Debug, Default)]
struct GeminiStreamReader {
    numbering: MessageNumbering,
    open_calls: OpenToolCalls,
}

impl RecordReader for GeminiStreamReader {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        let record = GeminiRecord::of_line(line)?;
        match json::as_name(record.kind) {
            "init" => out.push(AgentEvent::Started {
                session: json::decode_string(record.session),
                model: json::decode_string(record.model),
            }),
            "message" => self.read_message(&record, out),
            "tool_use" => {
                self.numbering.end_message();
                let call = tool_call_event(&record);
                self.open_calls.record_call(json::decode_string(record.tool_id), &call);
                out.push(call);
            }
            "tool_result" => {
                self.numbering.end_message();
                out.push(tool_result_event(&record));
                let is_denied = record.error.is_some_and(|error| json::as_name(error.kind) == DENIED_CALL_ERROR);
                out.extend(self.open_calls.end_call(json::decode_string(record.tool_id).as_deref(), is_denied));
            }
            "error" => self.read_error(&record, out),
            "result" => read_result(&record, out),
            _ => return Ok(RecordStatus::Unknown),
        }
        Ok(RecordStatus::Recognised)
    }
}

impl GeminiStreamReader {
    fn read_message(&mut self, record: &GeminiRecord<'_>, out: &mut Vec<AgentEvent>) {
        let Some(text) = json::decode_string(record.content) else { return };
        match json::as_name(record.role) {
            "assistant" if json::is_true(record.delta) => out.push(self.numbering.number_piece(text)),
            "assistant" => out.extend(self.numbering.number_whole_message(None, text)),
            _ => {
                self.numbering.end_message();
                out.push(AgentEvent::Prompted);
            }
        }
    }

    fn read_error(&mut self, record: &GeminiRecord<'_>, out: &mut Vec<AgentEvent>) {
        self.numbering.end_message();
        let message = json::decode_string(record.message).unwrap_or_default();
        if message.starts_with(BLOCKED_STOP_PREFIX) {
            out.push(AgentEvent::Prompted);
            return;
        }
        let kind = match json::as_name(record.severity) {
            "warning" => AgentErrorKind::Unknown,
            _ => classify::kind_from_message(&message),
        };
        out.push(AgentEvent::Error { kind, message, fatal: false });
    }
}

fn tool_call_event(record: &GeminiRecord<'_>) -> AgentEvent {
    let name = json::decode_string_prefix(record.tool, 80).unwrap_or_default();
    AgentEvent::ToolCall { name, detail: tool_summary::summarize_tool_input(record.parameters) }
}

fn tool_result_event(record: &GeminiRecord<'_>) -> AgentEvent {
    let error = record.error.and_then(|error| error.message);
    let ok = json::as_name(record.status) != "error" && record.error.is_none();
    AgentEvent::ToolResult { ok, excerpt: tool_summary::result_excerpt(error.or(record.output)) }
}

fn read_result(record: &GeminiRecord<'_>, out: &mut Vec<AgentEvent>) {
    let stats = record.stats.unwrap_or_default();
    let (input_tokens, output_tokens) = (json::parse_u64(stats.input), json::parse_u64(stats.output));
    if input_tokens.is_some() || output_tokens.is_some() {
        out.push(AgentEvent::Usage { input_tokens, output_tokens, cost_usd: None });
    }
    let ok = json::as_name(record.status) == "success";
    if !ok {
        let message = record.error.and_then(|error| json::decode_string(error.message)).unwrap_or_default();
        push_fatal_error(classify::kind_from_message(&message), message, out);
    }
    out.push(AgentEvent::Finished { ok });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{final_text, parse_events};
    use crate::{LimitReset, OutputFormat};

    fn message_line(role: &str, text: &str) -> String {
        format!(r#"{{"type":"message","role":"{role}","content":"{text}","delta":true}}"#)
    }

    #[test] // spec: S2, S4
    fn an_echoed_prompt_is_not_agent_text() {
        let stream =
            [message_line("user", "print <promise>X</promise>"), message_line("assistant", "Working.")].join("\n");
        assert_eq!(final_text(&parse_events(OutputFormat::Gemini, &stream)), "Working.");
    }

    #[test] // spec: S4
    fn a_tool_call_separates_two_messages() {
        let tool = r#"{"type":"tool_use","tool_name":"write_file","parameters":{"file_path":"a"}}"#;
        let stream =
            [&message_line("assistant", "<promise>"), &message_line("assistant", "X</promise>"), tool].join("\n");
        assert_eq!(final_text(&parse_events(OutputFormat::Gemini, &stream)), "<promise>X</promise>");
        let stream = [&stream, &message_line("assistant", "not yet")].map(String::as_str).join("\n");
        assert_eq!(final_text(&parse_events(OutputFormat::Gemini, &stream)), "not yet");
    }

    #[test] // spec: S4
    fn text_before_a_blocked_stop_is_not_final() {
        let blocked = r#"{"type":"error","severity":"warning","message":"Agent execution blocked: continue"}"#;
        let stream = [&message_line("assistant", "<promise>X</promise>"), blocked].join("\n");
        assert_eq!(final_text(&parse_events(OutputFormat::Gemini, &stream)), "");
    }

    #[test] // spec: L6
    fn a_quota_with_a_reset_time_is_a_rate_limit() {
        let stream = r#"{"type":"result","status":"error","error":{"type":"unknown","message":
            "[API Error: You exceeded your current quota, check your plan and billing. Please retry in 39.7s.]"}}"#
            .replace('\n', "");
        let found = parse_events(OutputFormat::Gemini, &stream);
        assert!(
            matches!(&found[0], AgentEvent::RateLimit { reset: LimitReset::After { retry_after_ms: 39_700 }, .. }),
            "{found:?}"
        );
        assert!(matches!(&found[1], AgentEvent::Error { kind: AgentErrorKind::RateLimit, fatal: true, .. }));
    }
}
