//! Codex: how `codex exec` is started. Its output is parsed in [`stream`].

use super::hooks::CodexHooks;
use super::install::CODEX_INSTALLER;
use crate::hooks::HookProtocol;
use crate::install::HostInstaller;
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{
    DefaultGrant, GrantArgs, PermissionGrant, PermissionGrants, PermissionLevel, WorkGrant,
};
use crate::launch::work_scope::WorkScope;
use crate::profile::{AgentAdvisory, AgentProfile, AgentRemedy, DiagnosticContext, InstallMethod};
use crate::registry::{Agent, AgentProgram, GracefulSignal, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::event::{AgentEvent, permission_denied_event};
use crate::stream::output_format::OutputFormat;

/// Codex would refuse to work outside of a repository, which ralph checks itself. If the server is unreachable, Codex
/// would retry forever.
const DEFAULT_ARGS: &[&str] =
    &["exec", "--json", "--skip-git-repo-check", "-c", "features.unbounded_connection_retries=false"];

/// No session file, and no rules, documents or skills of the user or the project. The remaining tools cannot change
/// anything in the sandbox, and they see only an empty folder.
const ONE_SHOT_ARGS: &[&str] = &[
    "exec",
    "--json",
    "--ephemeral",
    "--ignore-rules",
    "--skip-git-repo-check",
    "--sandbox",
    "read-only",
    "-c",
    "web_search=\"disabled\"",
    "-c",
    "project_doc_max_bytes=0",
    "-c",
    "features.shell_tool=false",
    "-c",
    "features.unified_exec=false",
    "-c",
    "features.plugins=false",
    "-c",
    "features.apps=false",
    "-c",
    "features.hooks=false",
    "-c",
    "features.goals=false",
    "-c",
    "features.multi_agent=false",
    "-c",
    "features.view_image=false",
    "-c",
    "features.skill_search=false",
    "-c",
    "features.tool_suggest=false",
    "-c",
    "features.unbounded_connection_retries=false",
];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &["--sandbox", "read-only"],
        "may read everything and run commands that change nothing; no network",
    )),
    edits: Ok(PermissionGrant::from_flags(
        &["--sandbox", "workspace-write"],
        "may edit files and run commands in the project; no network, and .git is read-only, so it cannot commit",
    )),
    work: Ok(WorkGrant {
        build_args: work_args,
        edit_description: "may edit files and run commands in the project; no network, and .git is read-only: ralph \
             commits its work",
        read_description: "may edit files and run commands in the project, because its checks write files; no network, \
             and .git is read-only",
    }),
    full: Ok(PermissionGrant::from_flags(
        &["--dangerously-bypass-approvals-and-sandbox"],
        "may do everything without asking and without a sandbox",
    )),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@openai/codex"),
    tested_version: Some("0.169.0"),
    install: InstallMethod::from_command("npm install -g @openai/codex"),
    login_hint: "run `codex login`, or set CODEX_API_KEY",
    login_variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    login_files: &["~/.codex/auth.json", "$CODEX_HOME/auth.json"],
    login_file_members: &[],
    reports_cost: false,
};

const SPEC: AgentSpec = AgentSpec {
    name: "codex",
    program: AgentProgram::OnPath("codex"),
    output_format: OutputFormat::Codex,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::AgentAssignedId,
    profile: PROFILE,
};

/// Parses a log line about a call that Codex refuses. Its records do not report such calls.
fn parse_denied_call(line: &str) -> Option<AgentEvent> {
    let (_, error) = line.split_once("codex_core::tools::router: error=")?;
    if let Some(reason) = error.strip_prefix("patch rejected: ") {
        return Some(permission_denied_event("apply_patch", reason.split(';').next().unwrap_or(reason)));
    }
    let (_, reason) = error.split_once(r#"Rejected(\""#)?;
    Some(permission_denied_event("exec", reason.split(r#"\")"#).next().unwrap_or(reason)))
}

/// Its sandbox limits what commands can change, not which ones run. In a read-only sandbox most checks would fail, because
/// they write files.
fn work_args(_scope: &WorkScope) -> GrantArgs {
    GrantArgs::from_flags(["--sandbox", "workspace-write"])
}

pub(crate) struct CodexAgent;

impl Agent for CodexAgent {
    fn hook_protocol(&self) -> Option<&'static dyn HookProtocol> {
        Some(&CodexHooks)
    }

    fn host_installer(&self) -> Option<&'static HostInstaller> {
        Some(&CODEX_INSTALLER)
    }

    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    /// `resume` supports fewer flags than `exec`, so it follows all of them. `exec` reads the prompt from stdin by
    /// default; `resume ID` needs an explicit `-`.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let invocation = self.base_invocation(request);
        let mut invocation = invocation.with_flag("--model", request.model).with_user_additions(request, &[]);
        if let Some(thread) = request.resume_session {
            invocation.args.extend(["resume", thread, "-"].map(str::to_owned));
        }
        invocation
    }

    fn build_one_shot(&self, request: &LaunchRequest<'_>) -> Option<AgentInvocation> {
        let request = LaunchRequest { args_override: None, extra_args: &[], ..*request };
        Some(
            request
                .base_invocation(self.program(), ONE_SHOT_ARGS)
                .with_flag("--model", request.model)
                .with_user_additions(&request, &[]),
        )
    }

    fn can_disable_tools(&self) -> bool {
        true
    }

    fn known_quirks(&self, _context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        let no_commits = AgentAdvisory::new_note(
            "with permission `edits` it has no network, and .git is read-only, so it cannot commit",
            AgentRemedy::GrantOrPassArguments { level: PermissionLevel::Full, arguments: &["--add-dir", ".git"] },
        );
        vec![no_commits]
    }

    fn parse_stderr_notice(&self, line: &str) -> Option<AgentEvent> {
        parse_denied_call(line)
    }

    /// After SIGTERM, its grandchildren would survive.
    fn graceful_signal(&self) -> GracefulSignal {
        GracefulSignal::Int
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn by_default_codex_is_confined_to_the_project() {
        let invocation = CodexAgent.build_invocation(&LaunchRequest { prompt: "go", ..LaunchRequest::default() });
        assert_eq!(
            invocation.args.join(" "),
            "exec --json --skip-git-repo-check -c features.unbounded_connection_retries=false \
             --sandbox workspace-write"
        );
        assert_eq!(CodexAgent.preset().args, invocation.args);
        assert_eq!(CodexAgent.graceful_signal(), GracefulSignal::Int);
    }

    // spec: A11
    #[test]
    fn a_call_that_only_the_log_reports_as_refused_is_a_denial() {
        let router = "2026-11-19T04:39:10.658976Z ERROR codex_core::tools::router: error=";
        let denied = |error: &str| CodexAgent.parse_stderr_notice(&format!("{router}{error}"));
        let command = r#"exec_command failed: CreateProcess { message: "Rejected(\"`rm -rf /x` rejected: no\")" }"#;
        let action = "exec: `rm -rf /x` rejected: no".to_owned();
        assert_eq!(denied(command), Some(AgentEvent::PermissionDenied { action }));
        let patch = "patch rejected: writing outside of the project; rejected by user approval settings";
        let action = "apply_patch: writing outside of the project".to_owned();
        assert_eq!(denied(patch), Some(AgentEvent::PermissionDenied { action }));
        assert_eq!(denied("exec_command failed: it exited with 1"), None);
    }

    #[test] // spec: A6
    fn a_resumed_thread_follows_every_flag() {
        let extra = ["--add-dir".to_owned(), ".git".to_owned()];
        let request = LaunchRequest {
            model: Some("m"),
            resume_session: Some("t-1"),
            permission: Some(PermissionLevel::Full),
            extra_args: &extra,
            ..LaunchRequest::default()
        };
        let args = CodexAgent.build_invocation(&request).args.join(" ");
        assert!(
            args.ends_with("--dangerously-bypass-approvals-and-sandbox --model m --add-dir .git resume t-1 -"),
            "{args}"
        );
    }
}
