//! OpenCode: how `opencode run` is started, and how its output is read. Its last record is a step that was not ended by
//! tool calls.
use super::about::{About, Machine, Trap};
use super::card::Card;
use super::classify;
use super::detail::{self, EXCERPT, one_line};
use super::event::{AgentEvent, ErrorKind};
use super::failing::fatal_until;
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::members::{members, whole_line};
use super::parser::{JsonStream, Parser, Records, Seen};
use super::registry::{Agent, Program, Sessions};
use super::reset::Reset;
use super::voice::Voice;
use ralph_util::json::{self, Malformed, Raw};

/// Requests that it repeats it tells of in its log alone.
const ARGS: &[&str] = &["run", "--format", "json", "--print-logs", "--log-level", "ERROR"];

/// A rule that asks ends the whole run here, because nobody answers; what is denied is merely not there.
const GRANTS: Grants = Grants {
    ask: Ok(Grant::of_flags(
        &[],
        "may do what its own settings allow (unless you changed them: edit and run commands); a tool that asks ends its turn",
    )),
    edits: Ok(Grant::of_env(
        &[("OPENCODE_PERMISSION", r#"{"edit":"allow","bash":"deny"}"#)],
        "may edit files in the project; it cannot run commands (tests, git)",
    )),
    full: Ok(Grant::of_flags(&["--auto"], "may do everything that its own settings do not deny, unasked")),
    usual: Usual::Given(Permission::Edits),
};

/// An update in the middle of a loop changes the program under it.
const ENV: &[(&str, &str)] = &[("OPENCODE_DISABLE_AUTOUPDATE", "1")];

/// Where plugins of the user's may be.
const PLUGINS: &[&str] =
    &[".opencode/plugin", ".opencode/plugins", "~/.config/opencode/plugin", "~/.config/opencode/plugins"];

const ABOUT: About = About {
    package: Some("opencode-ai"),
    tested: Some("1.18.33"),
    install_hint: "install it with `npm install -g opencode-ai`, or choose another with --agent",
    login_hint: "run `opencode auth login`",
    login_variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
    login_files: &["~/.local/share/opencode/auth.json", "$XDG_DATA_HOME/opencode/auth.json"],
    tells_cost: true,
};

const CARD: Card = Card {
    name: "opencode",
    program: Program::Named("opencode"),
    format: Format::Opencode,
    args: ARGS,
    grants: GRANTS,
    sessions: Sessions::Named,
    about: ABOUT,
};

pub(super) struct Opencode;

impl Agent for Opencode {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let start = self.start(job);
        start.flag("--model", job.model).flag("--session", job.session).finished_by(job, ENV)
    }

    fn oddities(&self, machine: &Machine<'_>) -> Vec<Trap> {
        let has_plugins = PLUGINS.iter().any(|path| (machine.has_path)(path));
        let plugins = has_plugins.then(|| {
            Trap::warning(
                "there is a plugin folder: it starts only when npm has answered, which without a network takes minutes",
                "remove the folder, or see that npm can reach its registry",
            )
        });
        plugins.into_iter().collect()
    }

    fn aside(&self, line: &str) -> Option<AgentEvent> {
        repeat(line)
    }
}

/// Reads a line of its log: a request failed, and if that is for good a record follows. `small` ones are not its work.
fn repeat(line: &str) -> Option<AgentEvent> {
    let is_one = line.contains(" level=ERROR ") && line.contains(" message=\"stream error\" ");
    let why = line.split_once(" error.error=\"").filter(|_| is_one && line.contains(" small=false "))?.1;
    let message = why.trim_end().trim_end_matches('"').to_owned();
    let kind = classify::of_repeat(&message);
    Some(AgentEvent::Error { kind, message, fatal: false })
}

members!(
    Record { kind: b"type", session: b"sessionID" }
    nested { part: b"part" => Part, error: b"error" => Failure }
);
whole_line!(Record);

members!(
    Part { message: b"messageID", text: b"text", tool: b"tool", cost: b"cost", reason: b"reason" }
    nested { state: b"state" => State, tokens: b"tokens" => Tokens }
);

members!(State { status: b"status", input: b"input", output: b"output", error: b"error" });

members!(Tokens { input: b"input", output: b"output" });

members!(Failure { name: b"name" } nested { data: b"data" => Data });

members!(
    Data { message: b"message", status: b"statusCode", body: b"responseBody" }
    nested { headers: b"responseHeaders" => Headers }
);

members!(Headers { retry_after: b"retry-after", retry_after_ms: b"retry-after-ms" });

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
            "tool_use" => tool_use(&part, is_own, out),
            "step_finish" => step_finish(&part, is_own, out),
            "error" if is_own => failure(record.error.unwrap_or_default(), out),
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

/// How it is told that a tool asked and nobody was there to answer. That ends the turn, and the program exits well.
const REJECTED: &str = "rejected permission";

/// A tool appears once, when it is done.
fn tool_use(part: &Part<'_>, is_own: bool, out: &mut Vec<AgentEvent>) {
    let state = part.state.unwrap_or_default();
    let name = json::start_of_string(part.tool, 80).unwrap_or_default();
    out.push(AgentEvent::ToolCall { name, detail: detail::of_input(state.input) });
    let ok = json::name(state.status) != "error";
    out.push(AgentEvent::ToolResult { ok, excerpt: detail::excerpt(state.error.or(state.output)) });
    let why = json::start_of_string(state.error, EXCERPT * 2).filter(|why| is_own && why.contains(REJECTED));
    if let Some(why) = why {
        let message = format!("a permission that nobody could give ended the agent's turn: {why}");
        out.push(AgentEvent::Error { kind: ErrorKind::Unknown, message, fatal: true });
    }
}

fn step_finish(part: &Part<'_>, is_own: bool, out: &mut Vec<AgentEvent>) {
    out.extend(usage(part));
    if is_own && json::name(part.reason) != "tool-calls" {
        out.push(AgentEvent::Finished { ok: true });
    }
}

fn usage(part: &Part<'_>) -> Option<AgentEvent> {
    let tokens = part.tokens.unwrap_or_default();
    let (input_tokens, output_tokens) = (json::count(tokens.input), json::count(tokens.output));
    let cost_usd = json::amount(part.cost);
    let known = input_tokens.is_some() || output_tokens.is_some() || cost_usd.is_some();
    known.then_some(AgentEvent::Usage { input_tokens, output_tokens, cost_usd })
}

fn failure(error: Failure<'_>, out: &mut Vec<AgentEvent>) {
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
    let reset = match kind {
        ErrorKind::RateLimit => reset(&data, &message),
        _ => Reset::Unknown {},
    };
    fatal_until(reset, kind, message, out);
}

/// The provider's headers say it best, then its words, then the whole of its answer.
fn reset(data: &Data<'_>, message: &str) -> Reset {
    let headers = data.headers.unwrap_or_default();
    let number = |raw| json::string(raw)?.parse::<u64>().ok();
    let wait = number(headers.retry_after_ms).or_else(|| number(headers.retry_after)?.checked_mul(1_000));
    if let Some(retry_after_ms) = wait {
        return Reset::After { retry_after_ms };
    }
    match (Reset::in_words(message), json::string(data.body)) {
        (Reset::Unknown {}, Some(body)) => Reset::in_words(&body),
        (reset, _) => reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::events;

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

    #[test] // spec: L6
    fn a_refusal_says_when_it_ends_in_its_headers_or_in_its_body() {
        let limited = |more: &str| {
            let stream = format!(
                r#"{{"type":"error","sessionID":"s","error":{{"name":"APIError","data":{{"message":"no","statusCode":429,{more}}}}}}}"#
            );
            events(Format::Opencode, &stream).into_iter().find_map(|event| match event {
                AgentEvent::RateLimit { reset, .. } => Some(reset),
                _ => None,
            })
        };
        let header = limited(r#""responseHeaders":{"retry-after":"7"},"responseBody":"try again in 9s""#);
        assert_eq!(header, Some(Reset::After { retry_after_ms: 7_000 }));
        let body = limited(r#""responseHeaders":{},"responseBody":"{\"m\":\"try again in 9s\"}""#);
        assert_eq!(body, Some(Reset::After { retry_after_ms: 9_000 }));
        assert_eq!(limited(r#""responseBody":"slow down""#), None);
    }

    #[test] // spec: L6
    fn a_failed_request_in_its_log_is_one_that_it_repeats() {
        let line = |small: &str| {
            format!(
                "timestamp=2026-11-16T06:39:46.911Z level=ERROR run=415a8eb4 message=\"stream error\" providerID=p \
                 modelID=m session.id=ses_1 small={small} agent=build mode=primary \
                 error.error=\"AI_APICallError: Rate limit reached\""
            )
        };
        let message = "AI_APICallError: Rate limit reached".to_owned();
        let expected = AgentEvent::Error { kind: ErrorKind::RateLimit, message, fatal: false };
        assert_eq!(repeat(&line("false")), Some(expected));
        assert_eq!(repeat(&line("true")), None, "a title is not its work");
        assert_eq!(repeat("level=ERROR message=\"no such file\" error.error=\"x\""), None);
    }

    #[test] // spec: A5, A8
    fn an_error_record_is_fatal_and_has_a_kind() {
        let stream = r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"no","statusCode":401}}}"#;
        let expected = AgentEvent::Error { kind: ErrorKind::Auth, message: "no".into(), fatal: true };
        assert_eq!(events(Format::Opencode, stream).last(), Some(&expected));
    }
}
