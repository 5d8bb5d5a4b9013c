//! Parses Cursor's `stream-json` output into events. It echoes the prompt, reports a tool call when it starts and when it
//! ends, and ends with a `result` record only if it succeeded; a failure is printed to stderr.
use super::record::CursorRecord;
use crate::failure::classify;
use crate::failure::fatal_error::push_fatal_error;
use crate::stream::event::AgentEvent;
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::parser::{JsonLinesParser, RecordReader, RecordStatus, StreamParser};
use crate::stream::tool_summary::{self, EXCERPT_CHARS, to_one_line};
use ralph_util::json::{self, MalformedJson, RawJson};
use serde_json::Value;

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<CursorStreamReader>::default()
}

#[derive(Debug, Default)]
struct CursorStreamReader {
    numbering: MessageNumbering,
}

impl RecordReader for CursorStreamReader {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        let record = CursorRecord::of_line(line)?;
        match json::as_name(record.kind) {
            "system" => out.push(AgentEvent::Started {
                session: json::decode_string(record.session),
                model: json::decode_string(record.model),
            }),
            "user" => out.push(AgentEvent::Prompted),
            "assistant" => self.read_message(record.message.and_then(|message| message.content), out),
            "thinking" => out.extend(thinking_event(record.text)),
            "tool_call" => out.extend(tool_event(json::as_name(record.subtype), record.tool_call)),
            "result" => read_result(&record, out),
            _ => return Ok(RecordStatus::Unknown),
        }
        Ok(RecordStatus::Recognised)
    }
}

impl CursorStreamReader {
    /// Each record is a complete message between tool calls. It has no id.
    fn read_message(&mut self, content: Option<RawJson<'_>>, out: &mut Vec<AgentEvent>) {
        let parts: Vec<Value> = content.and_then(|raw| serde_json::from_slice(raw).ok()).unwrap_or_default();
        let texts = parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
        let text: String = texts.collect();
        out.extend(self.numbering.number_whole_message(None, text));
    }
}

fn thinking_event(text: Option<RawJson<'_>>) -> Option<AgentEvent> {
    let text = to_one_line(&json::decode_string_prefix(text, EXCERPT_CHARS * 2)?, EXCERPT_CHARS);
    (!text.is_empty()).then_some(AgentEvent::Thinking { text })
}

/// The call is an object with one member, whose name is that of the tool with the suffix `ToolCall`.
fn tool_event(subtype: &str, call: Option<RawJson<'_>>) -> Option<AgentEvent> {
    let call: Value = serde_json::from_slice(call?).ok()?;
    let (name, details) = call.as_object()?.iter().next()?;
    match subtype {
        "started" => {
            let arguments = serde_json::to_vec(&details["args"]).unwrap_or_default();
            let name = name.strip_suffix("ToolCall").unwrap_or(name).to_owned();
            Some(AgentEvent::ToolCall { name, detail: tool_summary::summarize_tool_input(Some(&arguments)) })
        }
        "completed" => {
            let result = details["result"].as_object();
            let ok = result.is_none_or(|result| !result.contains_key("error") && !result.contains_key("rejected"));
            let shown = result.and_then(|result| result.values().next()).map(Value::to_string).unwrap_or_default();
            Some(AgentEvent::ToolResult { ok, excerpt: to_one_line(&shown, EXCERPT_CHARS) })
        }
        _ => None,
    }
}

fn read_result(record: &CursorRecord<'_>, out: &mut Vec<AgentEvent>) {
    let has_failed = json::is_true(record.is_error);
    if has_failed {
        let message = json::decode_string(record.result).unwrap_or_else(|| json::as_name(record.subtype).to_owned());
        push_fatal_error(classify::kind_from_message(&message), message, out);
    }
    out.push(AgentEvent::Finished { ok: !has_failed });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutputFormat;
    use crate::tests::{final_text, parse_events};

    /// Records in the documented shape.
    const RECORDS: &[&str] = &[
        r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/p","session_id":"s1","model":"Some Model","permissionMode":"default"}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"<promise>X</promise>"}]},"session_id":"s1"}"#,
        r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"I will read."}]},"session_id":"s1"}"#,
        r#"{"type":"tool_call","subtype":"started","call_id":"c1","tool_call":{"readToolCall":{"args":{"path":"a.md"}}},"session_id":"s1"}"#,
        r#"{"type":"tool_call","subtype":"completed","call_id":"c1","tool_call":{"readToolCall":{"args":{"path":"a.md"},"result":{"success":{"content":"hello"}}}},"session_id":"s1"}"#,
        r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Done. <promise>COMPLETE</promise>"}]},"session_id":"s1"}"#,
        r#"{"type":"result","subtype":"success","duration_ms":5,"duration_api_ms":5,"is_error":false,"result":"all","session_id":"s1","request_id":"r"}"#,
    ];

    // finding: N75
    // spec: A1, A5
    #[test]
    fn documented_records_become_events() {
        let events = parse_events(OutputFormat::Cursor, &RECORDS.join("\n"));
        assert_eq!(
            events.first(),
            Some(&AgentEvent::Started { session: Some("s1".into()), model: Some("Some Model".into()) })
        );
        assert!(events.contains(&AgentEvent::Prompted));
        assert!(events.iter().any(|event| matches!(event, AgentEvent::ToolCall { name, .. } if name == "read")));
        assert!(events.iter().any(|event| matches!(event, AgentEvent::ToolResult { ok: true, .. })));
        assert_eq!(final_text(&events), "Done. <promise>COMPLETE</promise>");
        assert_eq!(events.last(), Some(&AgentEvent::Finished { ok: true }));
    }

    // finding: N75
    #[test]
    fn a_rejected_tool_and_a_failed_result_are_failures() {
        let rejected = r#"{"type":"tool_call","subtype":"completed","tool_call":{"shellToolCall":{"args":{},"result":{"rejected":{}}}}}"#;
        let failed = r#"{"type":"result","subtype":"error","is_error":true,"result":"Invalid API key"}"#;
        let events = parse_events(OutputFormat::Cursor, &[rejected, failed].join("\n"));
        assert!(matches!(events.first(), Some(AgentEvent::ToolResult { ok: false, .. })), "{events:?}");
        assert_eq!(events.last(), Some(&AgentEvent::Finished { ok: false }));
    }
}
