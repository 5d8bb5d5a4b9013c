//! Codex: how `codex exec` is started. Its output is parsed in [`stream`].

use super::hooks::CodexHooks;
use super::install::CODEX_INSTALLER;
use crate::hooks::HookProtocol;
use crate::install::HostInstaller;
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel};
use crate::profile::{AgentAdvisory, AgentProfile, AgentRemedy, DiagnosticContext, InstallMethod};
use crate::registry::{Agent, AgentProgram, GracefulSignal, SessionSupport};
use crate::spec::AgentSpec;
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
