//! Copilot's `json` stream as events. It repeats the prompt, names its session only in the final record, and has
//! neither tokens nor cost; the tokens stand in a file beside it. What follows a signal looks like success, but for the record of the abort.
use super::record::{Data, Record};
use super::usage;
use crate::classify;
use crate::detail::{self, EXCERPT, one_line};
use crate::event::{AgentEvent, ErrorKind};
use crate::failing::fatal;
use crate::parser::{Before, JsonStream, Parser, Records, Seen};
use crate::totals::Totals;
use crate::voice::Voice;
use ralph_util::json::{self, Malformed};

/// The beginnings of its other records' names. They tell nothing that is needed here.
const FAMILIES: &[&str] = &[
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

pub(crate) fn parser() -> impl Parser {
    JsonStream::<Reader>::default()
}

#[derive(Debug, Default)]
struct Reader {
    voice: Voice,
    model: Option<String>,
    /// Whether a failure was told since the agent last spoke.
    has_failed: bool,
    totals: Totals,
}

impl Records for Reader {
    fn record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<Seen, Malformed> {
        let record = Record::of_line(line)?;
        let data = record.data.unwrap_or_default();
        let is_nested = json::is_set(data.parent);
        match json::name(record.kind) {
            "session.tools_updated" => self.named(&data, out),
            "user.message" if !is_nested => out.push(AgentEvent::Prompted),
            "assistant.message" if !is_nested => self.message(&data, out),
            "assistant.reasoning" if !is_nested => out.extend(thinking(&data)),
            "tool.execution_start" => out.push(tool_call(&data)),
            "tool.execution_complete" => out.push(tool_result(&data)),
            "model.call_failure" => out.push(call_failure(&data)),
            "session.error" => self.error(&data, out),
            "abort" => self.abort(&data, out),
            "result" => self.result(&record, out),
            kind if FAMILIES.iter().any(|family| kind.starts_with(family)) => {}
            _ => return Ok(Seen::Unknown),
        }
        Ok(Seen::Recognised)
    }

    fn continues(&mut self, before: Before) {
        self.totals.continue_from(before);
    }

    fn usage_file(&mut self, text: &[u8], out: &mut Vec<AgentEvent>) {
        if let Some((input, output)) = usage::tokens(text) {
            out.extend(self.totals.grown_to(Some(input), Some(output)));
        }
    }
}

impl Reader {
    fn named(&mut self, data: &Data<'_>, out: &mut Vec<AgentEvent>) {
        let model = json::string(data.model);
        if model.is_some() && model != self.model {
            self.model.clone_from(&model);
            out.push(AgentEvent::Started { session: None, model });
        }
    }

    fn message(&mut self, data: &Data<'_>, out: &mut Vec<AgentEvent>) {
        let id = json::string(data.message_id);
        let said = json::string(data.content).and_then(|text| self.voice.whole(id, text));
        self.has_failed &= said.is_none();
        out.extend(said);
    }

    fn error(&mut self, data: &Data<'_>, out: &mut Vec<AgentEvent>) {
        let message = json::string(data.message).unwrap_or_default();
        let kind = match json::name(data.error_type) {
            "rate_limit" => ErrorKind::RateLimit,
            "authentication" | "authorization" => ErrorKind::Auth,
            "quota" => ErrorKind::Budget,
            "context_limit" => ErrorKind::Context,
            _ => classify::by_status(json::count(data.status), &message),
        };
        self.has_failed = true;
        fatal(kind, message, out);
    }

    fn abort(&mut self, data: &Data<'_>, out: &mut Vec<AgentEvent>) {
        self.has_failed = true;
        let message = format!("aborted ({})", json::name(data.reason));
        out.push(AgentEvent::Error { kind: ErrorKind::Crash, message, fatal: true });
    }

    fn result(&mut self, record: &Record<'_>, out: &mut Vec<AgentEvent>) {
        let session = json::string(record.session);
        if session.is_some() {
            out.push(AgentEvent::Started { session, model: self.model.clone() });
        }
        let code = json::signed(record.exit_code).unwrap_or(0);
        if code != 0 && !self.has_failed {
            let message = format!("copilot says that it ends with exit code {code}");
            out.push(AgentEvent::Error { kind: ErrorKind::Unknown, message, fatal: true });
        }
        out.push(AgentEvent::Finished { ok: code == 0 && !self.has_failed });
    }
}

fn thinking(data: &Data<'_>) -> Option<AgentEvent> {
    let text = one_line(&json::start_of_string(data.content, EXCERPT * 2)?, EXCERPT);
    (!text.is_empty()).then_some(AgentEvent::Thinking { text })
}

fn tool_call(data: &Data<'_>) -> AgentEvent {
    let name = json::start_of_string(data.tool, 80).unwrap_or_default();
    AgentEvent::ToolCall { name, detail: detail::of_input(data.arguments) }
}

fn tool_result(data: &Data<'_>) -> AgentEvent {
    let error = data.error.and_then(|error| error.message);
    let content = data.result.and_then(|result| result.content);
    AgentEvent::ToolResult { ok: json::is_true(data.success), excerpt: detail::excerpt(error.or(content)) }
}

/// It tries again by itself.
fn call_failure(data: &Data<'_>) -> AgentEvent {
    let message = json::start_of_string(data.error_message, EXCERPT * 4).unwrap_or_default();
    let kind = classify::by_status(json::count(data.status), &message);
    AgentEvent::Error { kind, message, fatal: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::tests::{events, final_text};

    #[test] // spec: S2
    fn the_prompt_and_a_sub_agent_are_not_the_agent() {
        let stream = [
            r#"{"type":"user.message","data":{"content":"<promise>X</promise>"}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"a","content":"mine"}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"b","parentToolCallId":"t","content":"not mine"}}"#,
        ];
        assert_eq!(final_text(&events(Format::Copilot, &stream.join("\n"))), "mine");
    }

    #[test] // spec: A5, L5
    fn an_abort_is_no_success_whatever_the_result_says() {
        let stream = [
            r#"{"type":"assistant.message","data":{"messageId":"a","content":"<promise>X</promise>"}}"#,
            r#"{"type":"abort","data":{"reason":"user_abort"}}"#,
            r#"{"type":"result","sessionId":"s","exitCode":0}"#,
        ];
        let found = events(Format::Copilot, &stream.join("\n"));
        assert_eq!(found.last(), Some(&AgentEvent::Finished { ok: false }));
        assert_eq!(final_text(&found), "");
    }

    #[test] // spec: A5
    fn an_answer_after_a_failure_means_that_it_was_overcome() {
        let stream = [
            r#"{"type":"session.error","data":{"errorType":"rate_limit","statusCode":429,"message":"slow"}}"#,
            r#"{"type":"assistant.message","data":{"messageId":"a","content":"done"}}"#,
            r#"{"type":"result","sessionId":"s","exitCode":0}"#,
        ];
        assert_eq!(
            events(Format::Copilot, &stream.join("\n")).last(),
            Some(&AgentEvent::Finished { ok: true })
        );
    }
}
