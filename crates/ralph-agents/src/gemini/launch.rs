//! Gemini CLI: how it is started in headless mode. Its output is parsed in [`stream`].

use super::hooks::GeminiHooks;
use super::install::GEMINI_INSTALLER;
use crate::failure::infer_failure::AgentExit;
use crate::hooks::HookProtocol;
use crate::install::HostInstaller;
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{
    DefaultGrant, GrantArgs, PermissionGrant, PermissionGrants, PermissionLevel, WorkGrant,
};
use crate::launch::work_scope::{FileAccess, WorkScope};
use crate::profile::{AgentAdvisory, AgentProfile, AgentRemedy, DiagnosticContext, InstallMethod};
use crate::registry::{Agent, AgentProgram, ExitMeaning, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::event::{AgentErrorKind, AgentEvent};
use crate::stream::output_format::OutputFormat;

const DEFAULT_ARGS: &[&str] = &["-o", "stream-json"];

/// Gemini exits immediately in a folder that it does not trust, so `edits` and `full` also skip the trust check.
const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &["--approval-mode", "default"],
        "may read; tools that edit files or run commands are not available, and Gemini must trust the folder",
    )),
    edits: Ok(PermissionGrant::from_flags(
        &["--skip-trust", "--approval-mode", "auto_edit"],
        "may edit files; it cannot run commands (tests, git); it trusts the project's Gemini settings",
    )),
    work: Ok(WorkGrant {
        build_args: work_args,
        edit_description: "may edit files, run the project's checks and usual build and test commands, and commit; other \
             commands are denied; it trusts the project's Gemini settings",
        read_description: "may read files, and run the project's checks and usual build and test commands; it cannot \
             edit; it trusts the project's Gemini settings",
    }),
    full: Ok(PermissionGrant::from_flags(
        &["--skip-trust", "--approval-mode", "yolo"],
        "may do everything without asking; it trusts the project's Gemini settings",
    )),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

/// The exit code in a folder that Gemini does not trust, and how to fix it.
const UNTRUSTED_FOLDER_EXIT_CODE: i32 = 55;
const TRUST_REMEDY: &str = "trust the folder in Gemini, or grant it the permission `edits`";

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@google/gemini-cli"),
    tested_version: Some("0.61.0"),
    install: InstallMethod::from_command("npm install -g @google/gemini-cli"),
    login_hint: "run `gemini` once and log in, or set GEMINI_API_KEY",
    login_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    login_files: &["~/.gemini/oauth_creds.json"],
    login_file_members: &[],
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

fn work_args(scope: &WorkScope) -> GrantArgs {
    let mode = match scope.files() {
        FileAccess::Edit => "auto_edit",
        FileAccess::Read => "default",
    };
    let rules: Vec<String> = scope.rule_commands().map(|command| format!("run_shell_command({command})")).collect();
    let rules = rules.iter().flat_map(|rule| ["--allowed-tools", rule]);
    GrantArgs::from_flags(["--skip-trust", "--approval-mode", mode].into_iter().chain(rules))
}

pub(crate) struct GeminiAgent;

impl Agent for GeminiAgent {
    fn hook_protocol(&self) -> Option<&'static dyn HookProtocol> {
        Some(&GeminiHooks)
    }

    fn host_installer(&self) -> Option<&'static HostInstaller> {
        Some(&GEMINI_INSTALLER)
    }

    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let invocation = self.base_invocation(request).with_flag("-m", request.model);
        invocation.with_session("--resume", "--session-id", request).with_user_additions(request, &[])
    }

    fn known_quirks(&self, _context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        let trust = AgentAdvisory::new_note(
            "with permission `ask` it works only in trusted folders (otherwise it exits with code 55)",
            AgentRemedy::DoOrGrant { action: "trust the folder in Gemini", level: PermissionLevel::Edits },
        );
        vec![trust]
    }

    fn parse_stderr_notice(&self, line: &str) -> Option<AgentEvent> {
        super::retry_notice::parse_retry_notice(line)
    }

    fn login_remedy(&self, exit: AgentExit) -> &'static str {
        match exit {
            AgentExit::Code(UNTRUSTED_FOLDER_EXIT_CODE) => TRUST_REMEDY,
            AgentExit::Code(_) | AgentExit::Signal(_) | AgentExit::Unknown => PROFILE.login_hint,
        }
    }

    /// Codes above 128 are the low eight bits of the HTTP status of an API error.
    fn exit_meaning(&self, code: i32) -> Option<ExitMeaning> {
        match code {
            41 => Some(ExitMeaning::new(AgentErrorKind::Auth, "it is not logged in")),
            42 => Some(ExitMeaning::new(AgentErrorKind::Unknown, "it rejected its arguments or the session to resume")),
            52 => Some(ExitMeaning::new(AgentErrorKind::Unknown, "its settings are invalid")),
            53 => Some(ExitMeaning::new(AgentErrorKind::Budget, "it reached its turn limit")),
            UNTRUSTED_FOLDER_EXIT_CODE => Some(ExitMeaning::new(AgentErrorKind::Auth, "it does not trust this folder")),
            144 => Some(ExitMeaning::new(AgentErrorKind::Unknown, "the API rejected the request (400)")),
            145 => Some(ExitMeaning::new(AgentErrorKind::Auth, "the API rejected the key (401)")),
            147 => Some(ExitMeaning::new(AgentErrorKind::Auth, "the API denied access (403)")),
            148 => Some(ExitMeaning::new(AgentErrorKind::Model, "the API does not know the model (404)")),
            173 => Some(ExitMeaning::new(AgentErrorKind::RateLimit, "the API reported a rate limit (429)")),
            244 | 247 => Some(ExitMeaning::new(AgentErrorKind::Overloaded, "the API failed (500, 503)")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::work_scope::work_invocation;

    // finding: N54
    // spec: A11
    #[test]
    fn work_allows_commands_and_offers_no_edit_tools_to_a_judge() {
        let args = |files| work_invocation(&GeminiAgent, files);
        let coder = args(FileAccess::Edit).args.join(" ");
        let rules = "--allowed-tools run_shell_command(make test) --allowed-tools run_shell_command(git commit)";
        assert!(coder.ends_with(&format!("--skip-trust --approval-mode auto_edit {rules}")), "{coder}");
        let judge = args(FileAccess::Read).args.join(" ");
        assert!(judge.ends_with(&format!("--skip-trust --approval-mode default {rules}")), "{judge}");
    }

    #[test] // spec: A1, A6
    fn by_default_gemini_may_edit_and_skips_the_trust_check() {
        let invocation = GeminiAgent.build_invocation(&LaunchRequest {
            prompt: "go",
            new_session_id: Some("u"),
            ..LaunchRequest::default()
        });
        assert_eq!(invocation.args.join(" "), "-o stream-json --skip-trust --approval-mode auto_edit --session-id u");
    }

    #[test] // spec: A6
    fn with_permission_ask_the_folder_trust_of_gemini_applies() {
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
