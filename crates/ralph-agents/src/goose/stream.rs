//! Parses goose's `stream-json` into events. A message arrives in pieces with one id. A failure is written as agent
//! text without an id, and the exit code is 0. Tokens are totals of the whole session.
use crate::failure::classify;
use crate::failure::fatal_error::push_fatal_error;
use crate::stream::event::AgentEvent;
use crate::stream::members::{members, whole_line};
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::parser::{JsonLinesParser, PriorUsage, RecordReader, RecordStatus, StreamParser};
use crate::stream::tool_summary::{self, EXCERPT_CHARS, to_one_line};
use crate::stream::usage_totals::UsageTotals;
use ralph_util::json::{self, JsonCursor, MalformedJson, RawJson};

members!(
    GooseRecord {
        kind: b"type",
        model: b"model",
        error: b"error",
        input_tokens: b"input_tokens",
        output_tokens: b"output_tokens",
    }
    nested { message: b"message" => GooseMessage }
);
whole_line!(GooseRecord);

members!(GooseMessage { id: b"id", role: b"role", content: b"content" });

members!(
    GooseContentBlock { kind: b"type", text: b"text", thinking: b"thinking" }
    nested { call: b"toolCall" => GooseToolCall, result: b"toolResult" => GooseToolResult }
);

members!(GooseToolCall { error: b"error" } nested { value: b"value" => GooseToolCallValue });

members!(GooseToolCallValue { name: b"name", arguments: b"arguments" });

members!(GooseToolResult { status: b"status", error: b"error" } nested { value: b"value" => GooseToolResultValue });

members!(GooseToolResultValue { content: b"content", is_error: b"isError" });

/// The prefix of a failure that is written as agent text.
const FAILURE_PREFIX: &str = "Ran into this error: ";

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<GooseStreamReader>::default()
}

#[derive(Debug, Default)]
struct GooseStreamReader {
    numbering: MessageNumbering,
    totals: UsageTotals,
    has_failed: bool,
}

impl RecordReader for GooseStreamReader {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        let record = GooseRecord::of_line(line)?;
        match json::as_name(record.kind) {
            "message" => self.read_message(&record.message.unwrap_or_default(), out)?,
            "model_change" => {
                out.push(AgentEvent::Started { session: None, model: json::decode_string(record.model) });
            }
            "error" => self.push_failure(json::decode_string(record.error).unwrap_or_default(), out),
            "complete" => self.read_complete(&record, out),
            "notification" => {}
            _ => return Ok(RecordStatus::Unknown),
        }
        Ok(RecordStatus::Recognised)
    }

    fn continue_session(&mut self, before: PriorUsage) {
        self.totals.continue_from(before);
    }
}

impl GooseStreamReader {
    fn read_message(&mut self, message: &GooseMessage<'_>, out: &mut Vec<AgentEvent>) -> Result<(), MalformedJson> {
        let blocks = content_blocks(message.content)?;
        let is_own = json::as_name(message.role) == "assistant";
        for block in blocks {
            match json::as_name(block.kind) {
                "text" if is_own => self.read_text_block(message, &block, out),
                "text" => out.push(AgentEvent::Prompted),
                "thinking" if is_own => out.extend(thinking_event(block.thinking)),
                "toolRequest" => out.push(tool_call_event(&block.call.unwrap_or_default())),
                "toolResponse" => out.push(tool_result_event(&block.result.unwrap_or_default())),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_text_block(
        &mut self,
        message: &GooseMessage<'_>,
        block: &GooseContentBlock<'_>,
        out: &mut Vec<AgentEvent>,
    ) {
        let (id, text) = (json::decode_string(message.id), json::decode_string(block.text).unwrap_or_default());
        match text.strip_prefix(FAILURE_PREFIX) {
            Some(failure) if id.is_none() => self.push_failure(failure.to_owned(), out),
            Some(_) | None => out.extend(self.numbering.number_whole_message(id, text)),
        }
    }

    fn push_failure(&mut self, message: String, out: &mut Vec<AgentEvent>) {
        self.has_failed = true;
        push_fatal_error(classify::kind_from_message(&message), message, out);
    }

    fn read_complete(&mut self, record: &GooseRecord<'_>, out: &mut Vec<AgentEvent>) {
        out.extend(self.totals.advance_to(json::parse_u64(record.input_tokens), json::parse_u64(record.output_tokens)));
        out.push(AgentEvent::Finished { ok: !self.has_failed });
    }
}

fn content_blocks(content: Option<RawJson<'_>>) -> Result<Vec<GooseContentBlock<'_>>, MalformedJson> {
    let mut blocks = Vec::new();
    if let Some(content) = content.filter(|content| content.starts_with(b"[")) {
        JsonCursor::new(content)
            .visit_array(|cursor| GooseContentBlock::read(cursor).map(|block| blocks.push(block)))?;
    }
    Ok(blocks)
}

fn thinking_event(text: Option<RawJson<'_>>) -> Option<AgentEvent> {
    let text = to_one_line(&json::decode_string_prefix(text, EXCERPT_CHARS * 2)?, EXCERPT_CHARS);
    (!text.is_empty()).then_some(AgentEvent::Thinking { text })
}

fn tool_call_event(call: &GooseToolCall<'_>) -> AgentEvent {
    let tool = call.value.unwrap_or_default();
    AgentEvent::ToolCall {
        name: json::decode_string_prefix(tool.name, 80).unwrap_or_default(),
        detail: tool_summary::summarize_tool_input(tool.arguments.or(call.error)),
    }
}

fn tool_result_event(result: &GooseToolResult<'_>) -> AgentEvent {
    let answer = result.value.unwrap_or_default();
    AgentEvent::ToolResult {
        ok: json::as_name(result.status) == "success" && !json::is_true(answer.is_error),
        excerpt: tool_summary::result_excerpt(result.error.or(answer.content)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutputFormat;
    use crate::stream::event::AgentErrorKind;
    use crate::tests::{final_text, parse_events};

    fn message_line(id: &str, text: &str) -> String {
        format!(
            r#"{{"type":"message","message":{{"id":{id},"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    }

    #[test] // spec: A5, L6
    fn a_failure_written_as_agent_text_is_a_failure() {
        let stream = [
            message_line("\"a\"", "<promise>X</promise>"),
            message_line("null", "Ran into this error: Rate limit exceeded: slow."),
            r#"{"type":"complete","total_tokens":null}"#.to_owned(),
        ];
        let found = parse_events(OutputFormat::Goose, &stream.join("\n"));
        assert_eq!(final_text(&found), "");
        assert!(
            matches!(&found[1], AgentEvent::Error { kind: AgentErrorKind::RateLimit, fatal: true, .. }),
            "{found:?}"
        );
        assert_eq!(found.last(), Some(&AgentEvent::Finished { ok: false }));
    }

    #[test] // spec: S2
    fn agent_text_may_mention_errors() {
        let stream = message_line("\"a\"", "Ran into this error: 429, and fixed it.");
        assert_eq!(final_text(&parse_events(OutputFormat::Goose, &stream)), "Ran into this error: 429, and fixed it.");
    }
}
