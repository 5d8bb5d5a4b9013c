//! Parses Copilot's `json` stream into events. It echoes the prompt, names the session only in the final record, and
//! reports neither tokens nor cost; the tokens are in a separate file. After a signal the final record looks like
//! success, so the preceding abort record decides.
use super::record::{CopilotRecord, CopilotRecordPayload};
use super::usage_file;
use crate::failure::classify;
use crate::failure::fatal_error::push_fatal_error;
use crate::stream::event::{AgentErrorKind, AgentEvent};
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::open_tool_calls::OpenToolCalls;
use crate::stream::parser::{JsonLinesParser, PriorUsage, RecordReader, RecordStatus, StreamParser};
use crate::stream::tool_summary::{self, EXCERPT_CHARS, to_one_line};
use crate::stream::usage_totals::UsageTotals;
use ralph_util::json::{self, MalformedJson};

/// Prefixes of known record kinds that are ignored.
const IGNORED_RECORD_PREFIXES: &[&str] = &[
    "agent.",
    "assistant.",
    "command.",
    "hook.",
    "model.",
    "permission.",
    "session.",
    "skill.",
    "subagent.",
    "system.",
    "tool.",
    "user.",
];

/// The error code of a call that needs a permission which the agent does not have.
const DENIED_CALL_CODE: &str = "denied";

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<CopilotStreamReader>::default()
}

#[derive(Debug, Default)]
struct CopilotStreamReader {
    numbering: MessageNumbering,
    open_calls: OpenToolCalls,
    model: Option<String>,
    /// Whether a failure was reported since the last agent text.
    has_failed: bool,
    totals: UsageTotals,
}

impl RecordReader for CopilotStreamReader {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        let record = CopilotRecord::of_line(line)?;
        let data = record.data.unwrap_or_default();
        let is_nested = json::is_set(data.parent);
        match json::as_name(record.kind) {
            "session.tools_updated" => self.read_model(&data, out),
            "user.message" if !is_nested => out.push(AgentEvent::Prompted),
            "assistant.message" if !is_nested => self.read_message(&data, out),
            "assistant.reasoning" if !is_nested => out.extend(thinking_event(&data)),
            "tool.execution_start" => {
                let call = tool_call_event(&data);
                self.open_calls.record_call(json::decode_string(data.tool_call), &call);
                out.push(call);
            }
            "tool.execution_complete" => {
                out.push(tool_result_event(&data));
                let is_denied = data.error.is_some_and(|error| json::as_name(error.code) == DENIED_CALL_CODE);
                out.extend(self.open_calls.end_call(json::decode_string(data.tool_call).as_deref(), is_denied));
            }
            "model.call_failure" => out.push(call_failure_event(&data)),
            "session.error" => self.read_session_error(&data, out),
            "abort" => self.read_abort(&data, out),
            "result" => self.read_result(&record, out),
            kind if IGNORED_RECORD_PREFIXES.iter().any(|prefix| kind.starts_with(prefix)) => {}
            _ => return Ok(RecordStatus::Unknown),
        }
        Ok(RecordStatus::Recognised)
    }

    fn continue_session(&mut self, before: PriorUsage) {
        self.totals.continue_from(before);
    }

    fn read_usage_file(&mut self, text: &[u8], out: &mut Vec<AgentEvent>) {
        if let Some(totals) = usage_file::read_token_totals(text) {
            out.extend(self.totals.advance_to(Some(totals.input_tokens), Some(totals.output_tokens)));
        }
    }
}

impl CopilotStreamReader {
    fn read_model(&mut self, data: &CopilotRecordPayload<'_>, out: &mut Vec<AgentEvent>) {
        let model = json::decode_string(data.model);
        if model.is_some() && model != self.model {
            self.model.clone_from(&model);
            out.push(AgentEvent::Started { session: None, model });
        }
    }

    fn read_message(&mut self, data: &CopilotRecordPayload<'_>, out: &mut Vec<AgentEvent>) {
        let id = json::decode_string(data.message_id);
        let event = json::decode_string(data.content).and_then(|text| self.numbering.number_whole_message(id, text));
        self.has_failed &= event.is_none();
        out.extend(event);
    }

    fn read_session_error(&mut self, data: &CopilotRecordPayload<'_>, out: &mut Vec<AgentEvent>) {
        let message = json::decode_string(data.message).unwrap_or_default();
        let kind = match json::as_name(data.error_type) {
            "rate_limit" => AgentErrorKind::RateLimit,
            "authentication" | "authorization" => AgentErrorKind::Auth,
            "quota" => AgentErrorKind::Budget,
            "context_limit" => AgentErrorKind::Context,
            _ => classify::kind_from_status(json::parse_u64(data.status), &message),
        };
        self.has_failed = true;
        push_fatal_error(kind, message, out);
    }

    fn read_abort(&mut self, data: &CopilotRecordPayload<'_>, out: &mut Vec<AgentEvent>) {
        self.has_failed = true;
        let message = format!("aborted ({})", json::as_name(data.reason));
        out.push(AgentEvent::Error { kind: AgentErrorKind::Crash, message, fatal: true });
    }

    fn read_result(&mut self, record: &CopilotRecord<'_>, out: &mut Vec<AgentEvent>) {
        let session = json::decode_string(record.session);
        if session.is_some() {
            out.push(AgentEvent::Started { session, model: self.model.clone() });
        }
        let code = json::parse_i64(record.exit_code).unwrap_or(0);
        if code != 0 && !self.has_failed {
            let message = format!("copilot reported exit code {code}");
            out.push(AgentEvent::Error { kind: AgentErrorKind::Unknown, message, fatal: true });
        }
        out.push(AgentEvent::Finished { ok: code == 0 && !self.has_failed });
    }
}

fn thinking_event(data: &CopilotRecordPayload<'_>) -> Option<AgentEvent> {
    let text = to_one_line(&json::decode_string_prefix(data.content, EXCERPT_CHARS * 2)?, EXCERPT_CHARS);
    (!text.is_empty()).then_some(AgentEvent::Thinking { text })
}

fn tool_call_event(data: &CopilotRecordPayload<'_>) -> AgentEvent {
    let name = json::decode_string_prefix(data.tool, 80).unwrap_or_default();
    AgentEvent::ToolCall { name, detail: tool_summary::summarize_tool_input(data.arguments) }
}

fn tool_result_event(data: &CopilotRecordPayload<'_>) -> AgentEvent {
    let error = data.error.and_then(|error| error.message);
    let content = data.result.and_then(|result| result.content);
    AgentEvent::ToolResult { ok: json::is_true(data.success), excerpt: tool_summary::result_excerpt(error.or(content)) }
}

/// Not fatal: Copilot retries the request.
fn call_failure_event(data: &CopilotRecordPayload<'_>) -> AgentEvent {
    let message = json::decode_string_prefix(data.error_message, EXCERPT_CHARS * 4).unwrap_or_default();
    let kind = classify::kind_from_status(json::parse_u64(data.status), &message);
    AgentEvent::Error { kind, message, fatal: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutputFormat;
    use crate::tests::{final_text, parse_events};

    #[test] // spec: S2
    fn the_prompt_and_text_of_a_sub_agent_are_not_agent_text() {
        let stream = [
            r#"{"type":"user.message","data":{"content":"<promise>X</promise>"}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"a","content":"mine"}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"b","parentToolCallId":"t","content":"not mine"}}"#,
        ];
        assert_eq!(final_text(&parse_events(OutputFormat::Copilot, &stream.join("\n"))), "mine");
    }

    #[test] // spec: A5, L5
    fn an_abort_is_a_failure_whatever_the_result_says() {
        let stream = [
            r#"{"type":"assistant.message","data":{"messageId":"a","content":"<promise>X</promise>"}}"#,
            r#"{"type":"abort","data":{"reason":"user_abort"}}"#,
            r#"{"type":"result","sessionId":"s","exitCode":0}"#,
        ];
        let found = parse_events(OutputFormat::Copilot, &stream.join("\n"));
        assert_eq!(found.last(), Some(&AgentEvent::Finished { ok: false }));
        assert_eq!(final_text(&found), "");
    }

    #[test] // spec: A5
    fn an_answer_after_a_failure_clears_the_failure() {
        let stream = [
            r#"{"type":"session.error","data":{"errorType":"rate_limit","statusCode":429,"message":"slow"}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"a","content":"done"}}"#,
            r#"{"type":"result","sessionId":"s","exitCode":0}"#,
        ];
        assert_eq!(
            parse_events(OutputFormat::Copilot, &stream.join("\n")).last(),
            Some(&AgentEvent::Finished { ok: true })
        );
    }
}
