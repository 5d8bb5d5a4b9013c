//! OpenCode: how `opencode run` is started and how its output is parsed. The final record is a step that did not end
//! with tool calls.
use super::hooks::OpencodeHooks;
use super::install::OPENCODE_INSTALLER;
use crate::failure::classify;
use crate::failure::fatal_error::push_fatal_error_with_reset;
use crate::failure::limit_reset::LimitReset;
use crate::hooks::HookProtocol;
use crate::install::HostInstaller;
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{
    DefaultGrant, GrantArgs, PermissionGrant, PermissionGrants, PermissionLevel, WorkGrant,
};
use crate::launch::work_scope::{FileAccess, WorkScope};
use crate::profile::{AgentAdvisory, AgentProfile, DiagnosticContext, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::event::{AgentErrorKind, AgentEvent, name_of_nested_call, permission_denied_event};
use crate::stream::members::{members, whole_line};
use crate::stream::message_numbering::MessageNumbering;
use crate::stream::output_format::OutputFormat;
use crate::stream::parser::{JsonLinesParser, RecordReader, RecordStatus, StreamParser};
use crate::stream::tool_summary::{self, EXCERPT_CHARS, to_one_line};
use ralph_util::json::{self, MalformedJson, RawJson};
use serde_json::Value;

/// OpenCode reports retried requests only in its log, so the log is printed to stderr.
const DEFAULT_ARGS: &[&str] = &["run", "--format", "json", "--print-logs", "--log-level", "ERROR"];

/// A rule that asks ends the run, because no user can answer. A denied tool is just not offered to the agent.
const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &[],
        "may do what its settings allow (by default: edit files and run commands); a tool that asks ends its turn",
    )),
    edits: Ok(PermissionGrant::from_env(
        &[("OPENCODE_PERMISSION", r#"{"edit":"allow","bash":"deny"}"#)],
        "may edit files in the project; it cannot run commands (tests, git)",
    )),
    work: Ok(WorkGrant {
        build_args: work_args,
        edit_description: "may edit files in the project, run its checks and usual build and test commands, and commit; \
             other commands are denied",
        read_description: "may read files, and run the project's checks and usual build and test commands; it cannot edit",
    }),
    full: Ok(PermissionGrant::from_flags(
        &["--auto"],
        "may do everything that its settings do not deny, without asking",
    )),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

/// An automatic update would replace the program during a run.
const EXTRA_ENV: &[(&str, &str)] = &[("OPENCODE_DISABLE_AUTOUPDATE", "1")];

/// Where the user's plugins may be installed.
const PLUGIN_FOLDERS: &[&str] =
    &[".opencode/plugin", ".opencode/plugins", "~/.config/opencode/plugin", "~/.config/opencode/plugins"];

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("opencode-ai"),
    tested_version: Some("1.18.33"),
    install: InstallMethod::from_command("npm install -g opencode-ai"),
    login_hint: "run `opencode auth login`",
    login_variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
    login_files: &["~/.local/share/opencode/auth.json", "$XDG_DATA_HOME/opencode/auth.json"],
    login_file_members: &[],
    reports_cost: true,
};

const SPEC: AgentSpec = AgentSpec {
    name: "opencode",
    program: AgentProgram::OnPath("opencode"),
    output_format: OutputFormat::Opencode,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::AgentAssignedId,
    profile: PROFILE,
};

/// The last pattern that matches a command decides, so that their order matters.
fn work_args(scope: &WorkScope) -> GrantArgs {
    let edit = match scope.files() {
        FileAccess::Edit => "allow",
        FileAccess::Read => "deny",
    };
    let patterns = scope.commands().iter().flat_map(|command| [command.clone(), format!("{command} *")]);
    let rules: String = patterns.map(|pattern| format!(r#",{}:"allow""#, Value::from(pattern))).collect();
    let permission = format!(r#"{{"edit":"{edit}","bash":{{"*":"deny"{rules}}}}}"#);
    GrantArgs { flags: Vec::new(), env: vec![("OPENCODE_PERMISSION".to_owned(), permission)] }
}

pub(crate) struct OpencodeAgent;

impl Agent for OpencodeAgent {
    fn hook_protocol(&self) -> Option<&'static dyn HookProtocol> {
        Some(&OpencodeHooks)
    }

    fn host_installer(&self) -> Option<&'static HostInstaller> {
        Some(&OPENCODE_INSTALLER)
    }

    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let invocation = self.base_invocation(request);
        invocation
            .with_flag("--model", request.model)
            .with_flag("--session", request.resume_session)
            .with_user_additions(request, EXTRA_ENV)
    }

    fn known_quirks(&self, context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        let has_plugins = PLUGIN_FOLDERS.iter().any(|path| (context.has_path)(path));
        let plugins = has_plugins.then(|| {
            AgentAdvisory::new_warning(
                "a plugin folder exists: opencode waits for npm when it starts, which takes minutes without a network",
                "remove the folder, or make sure that npm can reach its registry",
            )
        });
        plugins.into_iter().collect()
    }

    fn parse_stderr_notice(&self, line: &str) -> Option<AgentEvent> {
        parse_retry_log_line(line)
    }
}

/// Parses a log line about a failed request. If the failure is final, an error record follows. Requests marked `small`
/// (such as titles) are not part of the work.
fn parse_retry_log_line(line: &str) -> Option<AgentEvent> {
    let is_failed_request = line.contains(" level=ERROR ") && line.contains(" message=\"stream error\" ");
    let error = line.split_once(" error.error=\"").filter(|_| is_failed_request && line.contains(" small=false "))?.1;
    let message = error.trim_end().trim_end_matches('"').to_owned();
    let kind = classify::kind_of_retried_failure(&message);
    Some(AgentEvent::Error { kind, message, fatal: false })
}

members!(
    OpencodeRecord { kind: b"type", session: b"sessionID" }
    nested { part: b"part" => OpencodePart, error: b"error" => OpencodeError }
);
whole_line!(OpencodeRecord);

members!(
    OpencodePart { message_id: b"messageID", text: b"text", tool: b"tool", cost: b"cost", reason: b"reason" }
    nested { state: b"state" => OpencodeToolState, tokens: b"tokens" => OpencodeTokenUsage }
);

members!(OpencodeToolState { status: b"status", input: b"input", output: b"output", error: b"error" });

members!(OpencodeTokenUsage { input: b"input", output: b"output" });

members!(OpencodeError { name: b"name" } nested { data: b"data" => OpencodeErrorDetails });

members!(
    OpencodeErrorDetails { message: b"message", status: b"statusCode", body: b"responseBody" }
    nested { headers: b"responseHeaders" => OpencodeResponseHeaders }
);

members!(OpencodeResponseHeaders { retry_after: b"retry-after", retry_after_ms: b"retry-after-ms" });

pub(crate) fn stream_parser() -> impl StreamParser {
    JsonLinesParser::<OpencodeStreamReader>::default()
}

#[derive(Debug, Default)]
struct OpencodeStreamReader {
    numbering: MessageNumbering,
    /// The session of the first record. Other sessions belong to sub-agents.
    main_session: Option<String>,
}

impl RecordReader for OpencodeStreamReader {
    fn read_record(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Result<RecordStatus, MalformedJson> {
        let record = OpencodeRecord::of_line(line)?;
        let kind = json::as_name(record.kind);
        if !matches!(kind, "step_start" | "step_finish" | "text" | "reasoning" | "tool_use" | "error") {
            return Ok(RecordStatus::Unknown);
        }
        let is_main = self.check_main_session(record.session, out);
        let part = record.part.unwrap_or_default();
        match kind {
            "text" if is_main => self.read_text(&part, out),
            "reasoning" if is_main => out.extend(thinking_event(&part)),
            "tool_use" => read_tool_use(&part, is_main, out),
            "step_finish" => read_step_finish(&part, is_main, out),
            "error" if is_main => read_error(record.error.unwrap_or_default(), out),
            _ => {}
        }
        Ok(RecordStatus::Recognised)
    }
}

impl OpencodeStreamReader {
    /// Returns whether a record belongs to the main session, and reports that session when it is first seen.
    fn check_main_session(&mut self, session: Option<RawJson<'_>>, out: &mut Vec<AgentEvent>) -> bool {
        let session = json::decode_string(session);
        if self.main_session.is_none() && session.is_some() {
            self.main_session.clone_from(&session);
            out.push(AgentEvent::Started { session: session.clone(), model: None });
        }
        session.is_none() || session == self.main_session
    }

    fn read_text(&mut self, part: &OpencodePart<'_>, out: &mut Vec<AgentEvent>) {
        let id = json::decode_string(part.message_id);
        out.extend(json::decode_string(part.text).and_then(|text| self.numbering.number_whole_message(id, text)));
    }
}

fn thinking_event(part: &OpencodePart<'_>) -> Option<AgentEvent> {
    let text = to_one_line(&json::decode_string_prefix(part.text, EXCERPT_CHARS * 2)?, EXCERPT_CHARS);
    Some(AgentEvent::Thinking { text })
}

/// Marks a tool error that means that a permission request was not answered. It ends the turn with exit code 0.
const REJECTED_PERMISSION_MARKER: &str = "rejected permission";

/// Marks a tool error that means that a rule denies this call. The agent continues.
const DENIED_CALL_MARKER: &str = "prevents you from using this specific tool call";

/// A tool is reported once, when it has finished.
fn read_tool_use(part: &OpencodePart<'_>, is_main: bool, out: &mut Vec<AgentEvent>) {
    let state = part.state.unwrap_or_default();
    let name = json::decode_string_prefix(part.tool, 80).unwrap_or_default();
    let name = if is_main { name } else { name_of_nested_call(name) };
    let detail = tool_summary::summarize_tool_input(state.input);
    out.push(AgentEvent::ToolCall { name: name.clone(), detail: detail.clone() });
    let ok = json::as_name(state.status) != "error";
    out.push(AgentEvent::ToolResult { ok, excerpt: tool_summary::result_excerpt(state.error.or(state.output)) });
    let error = json::decode_string_prefix(state.error, EXCERPT_CHARS * 2).unwrap_or_default();
    if error.contains(DENIED_CALL_MARKER) || error.contains(REJECTED_PERMISSION_MARKER) {
        out.push(permission_denied_event(&name, &detail));
    }
    if is_main && error.contains(REJECTED_PERMISSION_MARKER) {
        let message = format!("an unanswered permission request ended the agent's turn: {error}");
        out.push(AgentEvent::Error { kind: AgentErrorKind::Unknown, message, fatal: true });
    }
}

fn read_step_finish(part: &OpencodePart<'_>, is_main: bool, out: &mut Vec<AgentEvent>) {
    out.extend(usage_event(part));
    if is_main && json::as_name(part.reason) != "tool-calls" {
        out.push(AgentEvent::Finished { ok: true });
    }
}

fn usage_event(part: &OpencodePart<'_>) -> Option<AgentEvent> {
    let tokens = part.tokens.unwrap_or_default();
    let (input_tokens, output_tokens) = (json::parse_u64(tokens.input), json::parse_u64(tokens.output));
    let cost_usd = json::parse_amount(part.cost);
    let known = input_tokens.is_some() || output_tokens.is_some() || cost_usd.is_some();
    known.then_some(AgentEvent::Usage { input_tokens, output_tokens, cost_usd })
}

fn read_error(error: OpencodeError<'_>, out: &mut Vec<AgentEvent>) {
    let data = error.data.unwrap_or_default();
    let name = json::as_name(error.name);
    let message = json::decode_string(data.message).unwrap_or_else(|| name.to_owned());
    let kind = match name {
        "MessageAbortedError" | "AbortError" => AgentErrorKind::Crash,
        "ProviderAuthError" => AgentErrorKind::Auth,
        "ContextOverflowError" => AgentErrorKind::Context,
        "ProviderModelNotFoundError" => AgentErrorKind::Model,
        _ => classify::kind_from_status(json::parse_u64(data.status), &message),
    };
    let reset = match kind {
        AgentErrorKind::RateLimit => limit_reset(&data, &message),
        _ => LimitReset::Unknown {},
    };
    push_fatal_error_with_reset(reset, kind, message, out);
}

/// Prefers the provider's headers, then the error message, then the response body.
fn limit_reset(data: &OpencodeErrorDetails<'_>, message: &str) -> LimitReset {
    let headers = data.headers.unwrap_or_default();
    let number = |raw| json::decode_string(raw)?.parse::<u64>().ok();
    let wait = number(headers.retry_after_ms).or_else(|| number(headers.retry_after)?.checked_mul(1_000));
    if let Some(retry_after_ms) = wait {
        return LimitReset::After { retry_after_ms };
    }
    match (LimitReset::parse_message(message), json::decode_string(data.body)) {
        (LimitReset::Unknown {}, Some(body)) => LimitReset::parse_message(&body),
        (reset, _) => reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::parse_events;

    // finding: N54
    // spec: A11
    #[test]
    fn work_denies_every_command_that_no_later_pattern_allows() {
        let permission = |files: FileAccess| {
            let scope = WorkScope::new(["make test", r#"grep "a" b"#], files);
            let request = LaunchRequest {
                permission: Some(PermissionLevel::Work),
                work_scope: Some(&scope),
                ..LaunchRequest::default()
            };
            OpencodeAgent.build_invocation(&request).env.swap_remove(0)
        };
        let rules =
            r#""*":"deny","make test":"allow","make test *":"allow","grep \"a\" b":"allow","grep \"a\" b *":"allow""#;
        for (files, edit) in [(FileAccess::Edit, "allow"), (FileAccess::Read, "deny")] {
            let expected = format!(r#"{{"edit":"{edit}","bash":{{{rules}}}}}"#);
            assert_eq!(permission(files), ("OPENCODE_PERMISSION".to_owned(), expected));
        }
    }

    #[test] // spec: A5, S2
    fn text_of_a_sub_agent_is_not_agent_text() {
        let stream = concat!(
            r#"{"type":"text","sessionID":"main","part":{"messageID":"m1","text":"mine"}}"#,
            "\n",
            r#"{"type":"text","sessionID":"child","part":{"messageID":"m2","text":"not mine"}}"#,
        );
        assert_eq!(
            parse_events(OutputFormat::Opencode, stream),
            [
                AgentEvent::Started { session: Some("main".into()), model: None },
                AgentEvent::Text { message: 1, text: "mine".into() },
            ]
        );
    }

    #[test] // spec: L6
    fn a_rate_limit_reset_is_read_from_headers_or_body() {
        let limited = |more: &str| {
            let stream = format!(
                r#"{{"type":"error","sessionID":"s","error":{{"name":"APIError","data":{{"message":"no","statusCode":429,{more}}}}}}}"#
            );
            parse_events(OutputFormat::Opencode, &stream).into_iter().find_map(|event| match event {
                AgentEvent::RateLimit { reset, .. } => Some(reset),
                _ => None,
            })
        };
        let header = limited(r#""responseHeaders":{"retry-after":"7"},"responseBody":"try again in 9s""#);
        assert_eq!(header, Some(LimitReset::After { retry_after_ms: 7_000 }));
        let body = limited(r#""responseHeaders":{},"responseBody":"{\"m\":\"try again in 9s\"}""#);
        assert_eq!(body, Some(LimitReset::After { retry_after_ms: 9_000 }));
        assert_eq!(limited(r#""responseBody":"slow down""#), None);
    }

    #[test] // spec: L6
    fn a_failed_request_in_the_log_is_a_retry() {
        let log_line = |small: &str, error: &str| {
            format!(
                "timestamp=2026-11-16T06:39:46.911Z level=ERROR run=415a8eb4 message=\"stream error\" providerID=p \
                 modelID=m session.id=ses_1 small={small} agent=build mode=primary \
                 error.error=\"AI_APICallError: {error}\""
            )
        };
        let line = |small: &str| log_line(small, "Rate limit reached");
        let message = "AI_APICallError: Rate limit reached".to_owned();
        let expected = AgentEvent::Error { kind: AgentErrorKind::RateLimit, message, fatal: false };
        assert_eq!(parse_retry_log_line(&line("false")), Some(expected));
        // finding: N73
        let rejected = parse_retry_log_line(&log_line("false", "Incorrect API key provided"));
        assert!(
            matches!(rejected, Some(AgentEvent::Error { kind: AgentErrorKind::Auth, fatal: false, .. })),
            "{rejected:?}"
        );
        assert_eq!(parse_retry_log_line(&line("true")), None, "a title request is not part of the work");
        assert_eq!(parse_retry_log_line("level=ERROR message=\"no such file\" error.error=\"x\""), None);
    }

    #[test] // spec: A5, A8
    fn an_error_record_is_fatal_and_has_a_kind() {
        let stream =
            r#"{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"no","statusCode":401}}}"#;
        let expected = AgentEvent::Error { kind: AgentErrorKind::Auth, message: "no".into(), fatal: true };
        assert_eq!(parse_events(OutputFormat::Opencode, stream).last(), Some(&expected));
    }
}
