//! OpenCode's `run --format json` stream as events. It has no final record: the process just ends.
use super::classify;
use super::detail::{self, EXCERPT, one_line};
use super::event::{AgentEvent, ErrorKind};
use super::json::{self, Malformed, Raw};
use super::members::{members, whole_line};
use super::parser::{JsonStream, Parser, Records, Seen};
use super::voice::Voice;

members!(
    Record { kind: b"type", session: b"sessionID" }
    nested { part: b"part" => Part, error: b"error" => Failure }
);
whole_line!(Record);

members!(
    Part { message: b"messageID", text: b"text", tool: b"tool", cost: b"cost" }
    nested { state: b"state" => State, tokens: b"tokens" => Tokens }
);

members!(State { status: b"status", input: b"input", output: b"output", error: b"error" });

members!(Tokens { input: b"input", output: b"output" });

members!(Failure { name: b"name" } nested { data: b"data" => Data });

members!(Data { message: b"message", status: b"statusCode" });

pub(super) fn parser() -> impl Parser {
    JsonStream::<Reader>::default()
}

#[derive(Debug, Default)]
struct Reader {
    voice: Voice,
    /// The session that spoke first. Another one is a sub-agent's.
    session: Option<String>,
}

impl Records for Reader {
    fn record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<Seen, Malformed> {
        let record = Record::of_line(line)?;
        let kind = json::name(record.kind);
        if !matches!(kind, "step_start" | "step_finish" | "text" | "reasoning" | "tool_use" | "error") {
            return Ok(Seen::Unknown);
        }
        let is_own = self.is_own(record.session, out);
        let part = record.part.unwrap_or_default();
        match kind {
            "text" if is_own => self.text(&part, out),
            "reasoning" if is_own => out.extend(thinking(&part)),
            "tool_use" => tool_use(&part, out),
            "step_finish" => out.extend(usage(&part)),
            "error" if is_own => out.push(failure(record.error.unwrap_or_default())),
            _ => {}
        }
        Ok(Seen::Recognised)
    }
}

impl Reader {
    fn is_own(&mut self, session: Option<Raw<'_>>, out: &mut Vec<AgentEvent>) -> bool {
        let session = json::string(session);
        if self.session.is_none() && session.is_some() {
            self.session.clone_from(&session);
            out.push(AgentEvent::Started { session: session.clone(), model: None });
        }
        session.is_none() || session == self.session
    }

    fn text(&mut self, part: &Part<'_>, out: &mut Vec<AgentEvent>) {
        let id = json::string(part.message);
        out.extend(json::string(part.text).and_then(|text| self.voice.whole(id, text)));
    }
}

fn thinking(part: &Part<'_>) -> Option<AgentEvent> {
    let text = one_line(&json::start_of_string(part.text, EXCERPT * 2)?, EXCERPT);
    Some(AgentEvent::Thinking { text })
}

/// A tool appears once, when it is done.
fn tool_use(part: &Part<'_>, out: &mut Vec<AgentEvent>) {
    let state = part.state.unwrap_or_default();
    let name = json::start_of_string(part.tool, 80).unwrap_or_default();
    out.push(AgentEvent::ToolCall { name, detail: detail::of_input(state.input) });
    let ok = json::name(state.status) != "error";
    out.push(AgentEvent::ToolResult { ok, excerpt: detail::excerpt(state.error.or(state.output)) });
}

fn usage(part: &Part<'_>) -> Option<AgentEvent> {
    let tokens = part.tokens.unwrap_or_default();
    let (input_tokens, output_tokens) = (json::count(tokens.input), json::count(tokens.output));
    let cost_usd = json::amount(part.cost);
    let known = input_tokens.is_some() || output_tokens.is_some() || cost_usd.is_some();
    known.then_some(AgentEvent::Usage { input_tokens, output_tokens, cost_usd })
}

fn failure(error: Failure<'_>) -> AgentEvent {
    let data = error.data.unwrap_or_default();
    let name = json::name(error.name);
    let message = json::string(data.message).unwrap_or_else(|| name.to_owned());
    let kind = match name {
        "MessageAbortedError" | "AbortError" => ErrorKind::Crash,
        "ProviderAuthError" => ErrorKind::Auth,
        "ContextOverflowError" => ErrorKind::Context,
        "ProviderModelNotFoundError" => ErrorKind::Model,
        _ => classify::by_status(json::count(data.status), &message),
    };
    AgentEvent::Error { kind, message, fatal: true }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Format;
    use crate::agent::tests::events;

    #[test] // spec: A5, S2
    fn a_sub_agent_s_words_are_not_the_agent_s_own() {
        let stream = concat!(
            r#"{"type":"text","sessionID":"main","part":{"messageID":"m1","text":"mine"}}"#,
            "\n",
            r#"{"type":"text","sessionID":"child","part":{"messageID":"m2","text":"not mine"}}"#,
        );
        assert_eq!(
            events(Format::Opencode, stream),
            [
                AgentEvent::Started { session: Some("main".into()), model: None },
                AgentEvent::Text { message: 1, text: "mine".into() },
            ]
        );
    }

    #[test] // spec: A5, A8
    fn an_error_record_is_fatal_and_has_a_kind() {
        let stream = r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"no","statusCode":401}}}"#;
        let expected = AgentEvent::Error { kind: ErrorKind::Auth, message: "no".into(), fatal: true };
        assert_eq!(events(Format::Opencode, stream).last(), Some(&expected));
    }
}
