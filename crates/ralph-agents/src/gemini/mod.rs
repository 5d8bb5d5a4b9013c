//! Gemini CLI: how it is started headless. How its output is read is next door.
mod retry_notice;
mod stream;

pub(super) use stream::stream_parser;

use super::event::{AgentErrorKind, AgentEvent};
use super::infer_failure::AgentExit;
use super::launch::{AgentInvocation, LaunchRequest};
use super::output_format::OutputFormat;
use super::permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel};
use super::profile::{AgentAdvisory, AgentProfile, DiagnosticContext};
use super::registry::{Agent, AgentProgram, SessionSupport};
use super::spec::AgentSpec;

const DEFAULT_ARGS: &[&str] = &["-o", "stream-json"];

/// In a folder that it does not trust it gives up at once, so more than its own settings allow means trust too.
const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &["--approval-mode", "default"],
        "may read; tools that edit or run commands are not there, and the folder must be one that it trusts",
    )),
    edits: Ok(PermissionGrant::from_flags(
        &["--skip-trust", "--approval-mode", "auto_edit"],
        "may edit files; it cannot run commands (tests, git); it trusts the project's own Gemini settings",
    )),
    full: Ok(PermissionGrant::from_flags(
        &["--skip-trust", "--approval-mode", "yolo"],
        "may do everything, unasked; it trusts the project's own Gemini settings",
    )),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

/// What it exits with in a folder that it does not trust, and what to do then.
const UNTRUSTED_FOLDER_EXIT_CODE: i32 = 55;
const TRUST_HINT: &str = "trust the folder in Gemini itself, or use --permission edits";

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@google/gemini-cli"),
    tested_version: Some("0.61.0"),
    install_hint: "install it with `npm install -g @google/gemini-cli`, or choose another with --agent",
    login_hint: "run `gemini` once and log in, or set GEMINI_API_KEY",
    login_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    login_files: &["~/.gemini/oauth_creds.json"],
    reports_cost: false,
};

const SPEC: AgentSpec = AgentSpec {
    name: "gemini",
    program: AgentProgram::OnPath("gemini"),
    output_format: OutputFormat::Gemini,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::CallerAssignedId,
    profile: PROFILE,
};

pub(super) struct GeminiAgent;

impl Agent for GeminiAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let start = self.base_invocation(request).with_flag("-m", request.model);
        start.with_session("--resume", "--session-id", request).with_user_additions(request, &[])
    }

    fn known_quirks(&self, _context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        let trust = AgentAdvisory::new_note(
            "with permission `ask` it works only in folders that it trusts (exit code 55 elsewhere)",
            TRUST_HINT,
        );
        vec![trust]
    }

    fn parse_stderr_notice(&self, line: &str) -> Option<AgentEvent> {
        retry_notice::parse_retry_notice(line)
    }

    fn login_remedy(&self, exit: AgentExit) -> &'static str {
        match exit {
            AgentExit::Code(UNTRUSTED_FOLDER_EXIT_CODE) => TRUST_HINT,
            AgentExit::Code(_) | AgentExit::Signal(_) | AgentExit::Unknown => PROFILE.login_hint,
        }
    }

    /// Of the status of an API error the lowest eight bits are left.
    fn exit_meaning(&self, code: i32) -> Option<(AgentErrorKind, &'static str)> {
        match code {
            41 => Some((AgentErrorKind::Auth, "it is not logged in")),
            42 => Some((AgentErrorKind::Unknown, "it did not accept its arguments or the session to resume")),
            52 => Some((AgentErrorKind::Unknown, "its settings are wrong")),
            53 => Some((AgentErrorKind::Budget, "it reached its own limit of turns")),
            UNTRUSTED_FOLDER_EXIT_CODE => Some((AgentErrorKind::Auth, "it does not trust this folder")),
            144 => Some((AgentErrorKind::Unknown, "the API refused the request (400)")),
            145 => Some((AgentErrorKind::Auth, "the API refused the key (401)")),
            147 => Some((AgentErrorKind::Auth, "the API refused access (403)")),
            148 => Some((AgentErrorKind::Model, "the API does not know the model (404)")),
            173 => Some((AgentErrorKind::RateLimit, "the API limits the rate (429)")),
            244 | 247 => Some((AgentErrorKind::Overloaded, "the API failed (500, 503)")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_plain_job_edits_in_a_folder_that_is_trusted_for_it() {
        let start = GeminiAgent.build_invocation(&LaunchRequest {
            prompt: "go",
            new_session_id: Some("u"),
            ..LaunchRequest::default()
        });
        assert_eq!(start.args.join(" "), "-o stream-json --skip-trust --approval-mode auto_edit --session-id u");
    }

    #[test] // spec: A6
    fn with_permission_ask_gemini_s_own_folder_trust_applies() {
        let request = LaunchRequest {
            permission: Some(PermissionLevel::Ask),
            resume_session: Some("s"),
            ..LaunchRequest::default()
        };
        assert_eq!(
            GeminiAgent.build_invocation(&request).args.join(" "),
            "-o stream-json --approval-mode default --resume s"
        );
    }
}
