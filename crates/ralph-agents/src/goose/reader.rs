//! goose's `stream-json` as events. A message comes in pieces under one id. What went wrong is written as if the
//! agent had said it, under no id at all, and the exit code is 0. Its tokens are those of the whole session.
use crate::classify;
use crate::detail::{self, EXCERPT, one_line};
use crate::event::AgentEvent;
use crate::failing::fatal;
use crate::members::{members, whole_line};
use crate::parser::{Before, JsonStream, Parser, Records, Seen};
use crate::totals::Totals;
use crate::voice::Voice;
use ralph_util::json::{self, Cursor, Malformed, Raw};

members!(
    Record {
        kind: b"type",
        model: b"model",
        error: b"error",
        input: b"input_tokens",
        output: b"output_tokens",
    }
    nested { message: b"message" => Message }
);
whole_line!(Record);

members!(Message { id: b"id", role: b"role", content: b"content" });

members!(
    Block { kind: b"type", text: b"text", thinking: b"thinking" }
    nested { call: b"toolCall" => Call, result: b"toolResult" => Outcome }
);

members!(Call { error: b"error" } nested { value: b"value" => Tool });

members!(Tool { name: b"name", arguments: b"arguments" });

members!(Outcome { status: b"status", error: b"error" } nested { value: b"value" => Answer });

members!(Answer { content: b"content", is_error: b"isError" });

/// How goose tells a failure.
const FAILURE: &str = "Ran into this error: ";

pub(crate) fn parser() -> impl Parser {
    JsonStream::<Reader>::default()
}

#[derive(Debug, Default)]
struct Reader {
    voice: Voice,
    totals: Totals,
    has_failed: bool,
}

impl Records for Reader {
    fn record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<Seen, Malformed> {
        let record = Record::of_line(line)?;
        match json::name(record.kind) {
            "message" => self.message(&record.message.unwrap_or_default(), out)?,
            "model_change" => {
                out.push(AgentEvent::Started { session: None, model: json::string(record.model) });
            }
            "error" => self.failed(json::string(record.error).unwrap_or_default(), out),
            "complete" => self.complete(&record, out),
            "notification" => {}
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Recognised)
    }

    fn continues(&mut self, before: Before) {
        self.totals.continue_from(before);
    }
}

impl Reader {
    fn message(&mut self, message: &Message<'_>, out: &mut Vec<AgentEvent>) -> Result<(), Malformed> {
        let blocks = blocks(message.content)?;
        let is_own = json::name(message.role) == "assistant";
        for block in blocks {
            match json::name(block.kind) {
                "text" if is_own => self.say(message, &block, out),
                "text" => out.push(AgentEvent::Prompted),
                "thinking" if is_own => out.extend(thinking(block.thinking)),
                "toolRequest" => out.push(tool_call(&block.call.unwrap_or_default())),
                "toolResponse" => out.push(tool_result(&block.result.unwrap_or_default())),
                _ => {}
            }
        }
        Ok(())
    }

    fn say(&mut self, message: &Message<'_>, block: &Block<'_>, out: &mut Vec<AgentEvent>) {
        let (id, text) = (json::string(message.id), json::string(block.text).unwrap_or_default());
        match text.strip_prefix(FAILURE) {
            Some(what) if id.is_none() => self.failed(what.to_owned(), out),
            Some(_) | None => out.extend(self.voice.whole(id, text)),
        }
    }

    fn failed(&mut self, message: String, out: &mut Vec<AgentEvent>) {
        self.has_failed = true;
        fatal(classify::by_words(&message), message, out);
    }

    fn complete(&mut self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        out.extend(self.totals.grown_to(json::count(record.input), json::count(record.output)));
        out.push(AgentEvent::Finished { ok: !self.has_failed });
    }
}

fn blocks(content: Option<Raw<'_>>) -> Result<Vec<Block<'_>>, Malformed> {
    let mut blocks = Vec::new();
    if let Some(content) = content.filter(|content| content.starts_with(b"[")) {
        Cursor::new(content).array(|cursor| Block::read(cursor).map(|block| blocks.push(block)))?;
    }
    Ok(blocks)
}

fn thinking(text: Option<Raw<'_>>) -> Option<AgentEvent> {
    let text = one_line(&json::start_of_string(text, EXCERPT * 2)?, EXCERPT);
    (!text.is_empty()).then_some(AgentEvent::Thinking { text })
}

fn tool_call(call: &Call<'_>) -> AgentEvent {
    let tool = call.value.unwrap_or_default();
    AgentEvent::ToolCall {
        name: json::start_of_string(tool.name, 80).unwrap_or_default(),
        detail: detail::of_input(tool.arguments.or(call.error)),
    }
}

fn tool_result(result: &Outcome<'_>) -> AgentEvent {
    let answer = result.value.unwrap_or_default();
    AgentEvent::ToolResult {
        ok: json::name(result.status) == "success" && !json::is_true(answer.is_error),
        excerpt: detail::excerpt(result.error.or(answer.content)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::event::ErrorKind;
    use crate::tests::{events, final_text};

    fn said(id: &str, text: &str) -> String {
        format!(
            r#"{{"type":"message","message":{{"id":{id},"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    }

    #[test] // spec: A5, L6
    fn a_failure_in_the_shape_of_an_answer_is_a_failure() {
        let stream = [
            said("\"a\"", "<promise>X</promise>"),
            said("null", "Ran into this error: Rate limit exceeded: slow."),
            r#"{"type":"complete","total_tokens":null}"#.to_owned(),
        ];
        let found = events(Format::Goose, &stream.join("\n"));
        assert_eq!(final_text(&found), "");
        assert!(
            matches!(&found[1], AgentEvent::Error { kind: ErrorKind::RateLimit, fatal: true, .. }),
            "{found:?}"
        );
        assert_eq!(found.last(), Some(&AgentEvent::Finished { ok: false }));
    }

    #[test] // spec: S2
    fn an_agent_may_speak_of_errors() {
        let stream = said("\"a\"", "Ran into this error: 429, and fixed it.");
        assert_eq!(final_text(&events(Format::Goose, &stream)), "Ran into this error: 429, and fixed it.");
    }
}
