//! Parses Codex's `exec --json` stream into events. It reports neither model nor cost. Usage accumulates over the
//! thread, and `error` records are warnings or retries: only `turn.failed` ends an attempt.
use super::record::{CodexItem, CodexRecord, CodexTokenUsage, CodexTurnError};
use crate::failure::classify;
use crate::failure::fatal_error::push_fatal_error;
use crate::stream::event::{AgentEvent, permission_denied_event};
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::parser::{JsonLinesParser, PriorUsage, RecordReader, RecordStatus, StreamParser};
use crate::stream::tool_summary::{self, EXCERPT_CHARS, to_one_line};
use crate::stream::usage_totals::UsageTotals;
use ralph_util::json::{self, MalformedJson, RawJson};

/// Maximum number of unfinished items that are remembered. Codex runs only a few at a time.
const MAX_OPEN_ITEMS: usize = 64;

/// The error of a command that writes outside of the writable folders of the sandbox.
const SANDBOX_ERROR: &[u8] = b"Read-only file system";

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<CodexStreamReader>::default()
}

#[derive(Debug, Default)]
struct CodexStreamReader {
    numbering: MessageNumbering,
    /// Items whose call was reported when they started.
    open_items: Vec<String>,
    totals: UsageTotals,
}

impl RecordReader for CodexStreamReader {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        let record = CodexRecord::of_line(line)?;
        let item = record.item.unwrap_or_default();
        match json::as_name(record.kind) {
            "thread.started" => {
                out.push(AgentEvent::Started { session: json::decode_string(record.thread), model: None });
            }
            "turn.started" => self.numbering.end_message(),
            "item.started" => self.read_item_started(&item, out),
            "item.updated" => {}
            "item.completed" => self.read_item_completed(&item, out),
            "turn.completed" => self.read_turn_completed(record.usage.unwrap_or_default(), out),
            "turn.failed" => read_turn_failed(record.error.unwrap_or_default(), out),
            "error" => out.push(warning_event(record.message)),
            _ => return Ok(RecordStatus::Unknown),
        }
        Ok(RecordStatus::Recognised)
    }

    /// Quotes inside a JSON string are escaped, so these bytes never occur within a string.
    fn is_tool_record(&self, head: &[u8]) -> bool {
        memchr::memmem::find(head, br#""type":"command_execution""#).is_some()
    }

    fn continue_session(&mut self, before: PriorUsage) {
        self.totals.continue_from(before);
    }
}

impl CodexStreamReader {
    fn read_item_started(&mut self, item: &CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        let Some(call) = tool_call_event(item) else { return };
        out.push(call);
        if self.open_items.len() < MAX_OPEN_ITEMS {
            self.open_items.extend(json::decode_string(item.id));
        }
    }

    fn read_item_completed(&mut self, item: &CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        match json::as_name(item.kind) {
            "agent_message" => {
                out.extend(
                    json::decode_string(item.text).and_then(|text| self.numbering.number_whole_message(None, text)),
                );
            }
            "user_message" => out.push(AgentEvent::Prompted),
            "reasoning" => out.extend(thinking_event(item)),
            "error" => out.push(warning_event(item.message)),
            _ => self.read_tool_completed(item, out),
        }
    }

    fn read_tool_completed(&mut self, item: &CodexItem<'_>, out: &mut Vec<AgentEvent>) {
        let Some(call) = tool_call_event(item) else { return };
        let id = json::decode_string(item.id);
        match self.open_items.iter().position(|open| Some(open) == id.as_ref()) {
            Some(at) => drop(self.open_items.swap_remove(at)),
            None => out.push(call.clone()),
        }
        out.push(tool_result_event(item));
        if let (AgentEvent::ToolCall { name, detail }, true) = (&call, is_denied(item)) {
            out.push(permission_denied_event(name, detail));
        }
    }

    fn read_turn_completed(&mut self, usage: CodexTokenUsage<'_>, out: &mut Vec<AgentEvent>) {
        out.extend(self.totals.advance_to(json::parse_u64(usage.input), json::parse_u64(usage.output)));
        out.push(AgentEvent::Finished { ok: true });
    }
}

fn tool_call_event(item: &CodexItem<'_>) -> Option<AgentEvent> {
    let (name, detail) = match json::as_name(item.kind) {
        "command_execution" => ("shell".to_owned(), tool_summary::summarize_value(item.command)),
        "file_change" => {
            ("edit".to_owned(), tool_summary::summarize_tool_input(item.changes.and_then(json::first_element)))
        }
        "web_search" => ("web_search".to_owned(), tool_summary::summarize_value(item.query)),
        "mcp_tool_call" => {
            let name = format!("{}.{}", json::as_name(item.server), json::as_name(item.tool));
            (name, tool_summary::summarize_tool_input(item.arguments))
        }
        "collab_tool_call" => (json::as_name(item.tool).to_owned(), tool_summary::summarize_value(item.prompt)),
        _ => return None,
    };
    Some(AgentEvent::ToolCall { name, detail })
}

fn tool_result_event(item: &CodexItem<'_>) -> AgentEvent {
    let exited_well = item.exit_code.is_none_or(|code| code == b"0" || code == b"null");
    let failed = matches!(json::as_name(item.status), "failed" | "declined") || json::is_set(item.error);
    let content = item.result.and_then(|result| result.content);
    AgentEvent::ToolResult {
        ok: exited_well && !failed,
        excerpt: tool_summary::result_excerpt(item.output.or(content).or(item.error.filter(|_| failed))),
    }
}

/// Returns whether its rules declined the item, or its sandbox kept a command from writing.
fn is_denied(item: &CodexItem<'_>) -> bool {
    let status = json::as_name(item.status);
    let output = item.output.unwrap_or_default();
    status == "declined" || status == "failed" && memchr::memmem::find(output, SANDBOX_ERROR).is_some()
}

fn thinking_event(item: &CodexItem<'_>) -> Option<AgentEvent> {
    let text = to_one_line(&json::decode_string_prefix(item.text, EXCERPT_CHARS * 2)?, EXCERPT_CHARS);
    Some(AgentEvent::Thinking { text })
}

fn warning_event(message: Option<RawJson<'_>>) -> AgentEvent {
    let message = json::decode_string(message).unwrap_or_default();
    AgentEvent::Error { kind: classify::kind_from_message(&message), message, fatal: false }
}

fn read_turn_failed(error: CodexTurnError<'_>, out: &mut Vec<AgentEvent>) {
    let message = json::decode_string(error.message).unwrap_or_default();
    push_fatal_error(classify::kind_from_message(&message), message, out);
    out.push(AgentEvent::Finished { ok: false });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutputFormat;
    use crate::stream::event::AgentErrorKind;
    use crate::tests::parse_events;

    #[test] // spec: S4, S8
    fn an_oversized_record_may_contain_agent_text_unless_it_is_command_output() {
        let long = "x".repeat(5 << 20);
        let record = |kind: &str, key: &str| {
            let item = format!(r#"{{"id":"item_1","type":"{kind}","{key}":"{long}"}}"#);
            parse_events(OutputFormat::Codex, &format!(r#"{{"type":"item.completed","item":{item}}}"#))
        };
        assert!(record("command_execution", "aggregated_output").is_empty());
        assert_eq!(record("agent_message", "text"), [AgentEvent::Unread]);
    }

    #[test] // spec: A5, L8
    fn usage_accumulates_over_the_thread_and_is_reported_as_increments() {
        let stream = concat!(
            r#"{"type":"turn.completed","usage":{"input_tokens":100,"output_tokens":7}}"#,
            "\n",
            r#"{"type":"turn.completed","usage":{"input_tokens":250,"output_tokens":9}}"#,
        );
        let added: Vec<_> = parse_events(OutputFormat::Codex, stream)
            .into_iter()
            .filter_map(|event| match event {
                AgentEvent::Usage { input_tokens, output_tokens, cost_usd: None } => {
                    Some((input_tokens, output_tokens))
                }
                _ => None,
            })
            .collect();
        assert_eq!(added, [(Some(100), Some(7)), (Some(150), Some(2))]);
    }

    #[test] // spec: A5, L6
    fn only_a_failed_turn_is_fatal() {
        let stream = concat!(
            r#"{"type":"error","message":"Reconnecting... 1/5 (429 Too Many Requests)"}"#,
            "\n",
            r#"{"type":"item.completed","item":{"id":"i","type":"error","message":"model metadata"}}"#,
            "\n",
            r#"{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429"}}"#,
        );
        let fatal: Vec<_> = parse_events(OutputFormat::Codex, stream)
            .into_iter()
            .filter_map(|event| match event {
                AgentEvent::Error { kind, fatal, .. } => Some((kind, fatal)),
                _ => None,
            })
            .collect();
        let limited = AgentErrorKind::RateLimit;
        assert_eq!(fatal, [(limited, false), (AgentErrorKind::Model, false), (limited, true)]);
    }

    #[test] // spec: A5, S2
    fn a_tool_that_is_reported_only_when_it_finishes_still_yields_a_call() {
        let stream = r#"{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","server":"tracker",
            "tool":"get_issue","arguments":{"query":"42"},"result":{"content":[{"type":"text","text":"open"}]}}}"#
            .replace('\n', "");
        assert_eq!(
            parse_events(OutputFormat::Codex, &stream),
            [
                AgentEvent::ToolCall { name: "tracker.get_issue".into(), detail: "42".into() },
                AgentEvent::ToolResult { ok: true, excerpt: "open".into() },
            ]
        );
    }
}
