//! Parses the events of pi's JSON mode. Messages are read when they end; their updates only repeat parts of them. A run has
//! ended with `agent_end`, unless pi announces that it retries.
use crate::failure::classify;
use crate::failure::fatal_error::push_fatal_error;
use crate::stream::event::AgentEvent;
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::parser::{JsonLinesParser, RecordReader, RecordStatus, StreamParser};
use crate::stream::tool_summary::{self, EXCERPT_CHARS, to_one_line};
use ralph_util::json::{self, MalformedJson, RawJson};
use serde_json::Value;

/// Known record kinds that are ignored.
const IGNORED_RECORDS: &[&str] = &[
    "agent_start",
    "agent_settled",
    "turn_start",
    "turn_end",
    "message_start",
    "message_update",
    "tool_execution_update",
    "queue_update",
    "compaction_start",
    "compaction_end",
    "auto_retry_end",
    "entry_appended",
];

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<PiStreamReader>::default()
}

#[derive(Debug, Default)]
struct PiStreamReader {
    numbering: MessageNumbering,
    /// Whether the last message of the agent ended with an error.
    has_failed: bool,
}

impl RecordReader for PiStreamReader {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        let keys = ["type", "id", "message", "toolName", "args", "isError", "result", "willRetry", "errorMessage"];
        let [kind, id, message, tool, args, is_error, result, will_retry, error] = json::pick_members(line, keys)?;
        match json::as_name(kind) {
            "session" => out.push(AgentEvent::Started { session: json::decode_string(id), model: None }),
            "message_end" => self.read_message(message, out),
            "tool_execution_start" => out.push(AgentEvent::ToolCall {
                name: json::decode_string_prefix(tool, 80).unwrap_or_default(),
                detail: tool_summary::summarize_tool_input(args),
            }),
            "tool_execution_end" => {
                out.push(AgentEvent::ToolResult { ok: !json::is_true(is_error), excerpt: tool_result_excerpt(result) });
            }
            "auto_retry_start" => {
                let message = json::decode_string(error).unwrap_or_default();
                let kind = classify::kind_of_retried_failure(&message);
                out.push(AgentEvent::Error { kind, message, fatal: false });
            }
            "agent_end" if json::is_true(will_retry) => {}
            "agent_end" => out.push(AgentEvent::Finished { ok: !self.has_failed }),
            kind if IGNORED_RECORDS.contains(&kind) => {}
            _ => return Ok(RecordStatus::Unknown),
        }
        Ok(RecordStatus::Recognised)
    }
}

impl PiStreamReader {
    fn read_message(&mut self, message: Option<RawJson<'_>>, out: &mut Vec<AgentEvent>) {
        let message: Value = message.and_then(|raw| serde_json::from_slice(raw).ok()).unwrap_or_default();
        match message["role"].as_str() {
            Some("user") => out.push(AgentEvent::Prompted),
            Some("assistant") => self.read_agent_message(&message, out),
            Some(_) | None => {}
        }
    }

    fn read_agent_message(&mut self, message: &Value, out: &mut Vec<AgentEvent>) {
        let parts = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let thinking =
            parts.iter().filter_map(|part| part["thinking"].as_str()).map(|text| to_one_line(text, EXCERPT_CHARS));
        out.extend(thinking.filter(|text| !text.is_empty()).map(|text| AgentEvent::Thinking { text }));
        let texts = parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
        out.extend(self.numbering.number_whole_message(None, texts.collect()));
        out.extend(usage_event(&message["usage"]));
        let stop_reason = message["stopReason"].as_str().unwrap_or_default();
        self.has_failed = matches!(stop_reason, "error" | "aborted" | "length");
        if self.has_failed {
            let text = message["errorMessage"].as_str().unwrap_or(stop_reason).to_owned();
            push_fatal_error(classify::kind_from_message(&text), text, out);
        }
    }
}

fn usage_event(usage: &Value) -> Option<AgentEvent> {
    let (input_tokens, output_tokens) = (usage["input"].as_u64(), usage["output"].as_u64());
    let cost_usd = usage["cost"]["total"].as_f64();
    let is_known = input_tokens.is_some() || output_tokens.is_some() || cost_usd.is_some();
    is_known.then_some(AgentEvent::Usage { input_tokens, output_tokens, cost_usd })
}

fn tool_result_excerpt(result: Option<RawJson<'_>>) -> String {
    let [content] = json::pick_members_or_none(result, ["content"]);
    tool_summary::result_excerpt(content.or(result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutputFormat;
    use crate::stream::event::AgentErrorKind;
    use crate::tests::{final_text, parse_events};

    /// Records in the documented shape.
    const RECORDS: &[&str] = &[
        r#"{"type":"session","version":3,"id":"s1","timestamp":"t","cwd":"/p"}"#,
        r#"{"type":"agent_start"}"#,
        r#"{"type":"turn_start"}"#,
        r#"{"type":"message_end","message":{"role":"user","content":"<promise>X</promise>"}}"#,
        r#"{"type":"message_update","usage":{},"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"Do"}}"#,
        r#"{"type":"tool_execution_start","toolCallId":"c","toolName":"bash","args":{"command":"ls"}}"#,
        r#"{"type":"tool_execution_end","toolCallId":"c","toolName":"bash","result":{"content":[{"type":"text","text":"a"}]},"isError":false}"#,
        r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Done. <promise>COMPLETE</promise>"}],"usage":{"input":7,"output":3,"cost":{"total":0.5}},"stopReason":"stop"}}"#,
        r#"{"type":"turn_end","message":{},"toolResults":[]}"#,
        r#"{"type":"agent_end","messages":[],"willRetry":false}"#,
    ];

    // finding: N75
    // spec: A1, A5
    #[test]
    fn documented_records_become_events() {
        let events = parse_events(OutputFormat::Pi, &RECORDS.join("\n"));
        assert_eq!(events.first(), Some(&AgentEvent::Started { session: Some("s1".into()), model: None }));
        assert!(events.contains(&AgentEvent::Prompted));
        assert!(events.iter().any(|event| matches!(event, AgentEvent::ToolCall { name, .. } if name == "bash")));
        let usage = AgentEvent::Usage { input_tokens: Some(7), output_tokens: Some(3), cost_usd: Some(0.5) };
        assert!(events.contains(&usage), "{events:?}");
        assert_eq!(final_text(&events), "Done. <promise>COMPLETE</promise>");
        assert_eq!(events.last(), Some(&AgentEvent::Finished { ok: true }));
    }

    // finding: N75
    #[test]
    fn an_error_that_is_not_retried_ends_the_attempt() {
        let retried =
            r#"{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":9,"errorMessage":"429 rate limit"}"#;
        let failed = r#"{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"401 invalid api key"}}"#;
        let end = |retries: bool| format!(r#"{{"type":"agent_end","messages":[],"willRetry":{retries}}}"#);
        let events = parse_events(OutputFormat::Pi, &[retried, failed, &end(false)].join("\n"));
        assert!(
            matches!(events.first(), Some(AgentEvent::Error { kind: AgentErrorKind::RateLimit, fatal: false, .. })),
            "{events:?}"
        );
        assert!(
            events
                .iter()
                .any(|event| matches!(event, AgentEvent::Error { kind: AgentErrorKind::Auth, fatal: true, .. }))
        );
        assert_eq!(events.last(), Some(&AgentEvent::Finished { ok: false }));
        assert_eq!(parse_events(OutputFormat::Pi, &end(true)), [], "pi starts again by itself");
    }
}
