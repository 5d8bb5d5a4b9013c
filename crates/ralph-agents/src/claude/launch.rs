//! Claude Code: how it is started in headless mode. Its output is parsed in [`stream`].

use ralph_core::judge::JUDGE_SYSTEM_PROMPT;
use ralph_core::workflow::AgentOptions;

use super::hooks::ClaudeHooks;
use super::install::CLAUDE_INSTALLER;
use super::node_options::option_args;
use crate::hooks::HookProtocol;
use crate::install::HostInstaller;
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::node_options::{NodeOptionArgs, UnsupportedOption};
use crate::launch::permission::{
    DefaultGrant, GrantArgs, PermissionGrant, PermissionGrants, PermissionLevel, WorkGrant,
};
use crate::launch::preflight::{LaunchBlocker, LaunchEnvironment};
use crate::launch::work_scope::{FileAccess, WorkScope};
use crate::profile::{AgentAdvisory, AgentProfile, DiagnosticContext, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;

/// Claude rejects `stream-json` without `--verbose`.
const DEFAULT_ARGS: &[&str] = &["-p", "--output-format", "stream-json", "--verbose"];

/// No tools, no settings or memory files of the user or the project, and no session file.
const ONE_SHOT_ARGS: &[&str] = &[
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--safe-mode",
    "--strict-mcp-config",
    "--no-session-persistence",
    "--tools",
    "",
    "--system-prompt",
    JUDGE_SYSTEM_PROMPT,
];

/// A background task would keep the process alive after its final result.
const EXTRA_ENV: &[(&str, &str)] = &[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &["--permission-mode", "default"],
        "may do only what its settings allow; everything else is denied",
    )),
    edits: Ok(PermissionGrant::from_flags(
        &["--permission-mode", "acceptEdits"],
        "may edit files in the project, also with simple commands; other commands (tests, git) only if its settings allow them",
    )),
    work: Ok(WorkGrant {
        build_args: work_args,
        edit_description: "may edit files in the project, run its checks and usual build and test commands, and commit; \
             other commands only if its settings allow them",
        read_description: "may read files, and run the project's checks and usual build and test commands; it cannot edit",
    }),
    full: Ok(PermissionGrant::from_flags(&["--dangerously-skip-permissions"], "may do everything without asking")),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

/// Either of these marks the machine as a sandbox, in which Claude accepts full permission as root. Only the user may
/// set them.
const SANDBOX_VARIABLES: &[&str] = &["IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@anthropic-ai/claude-code"),
    tested_version: Some("2.1.327"),
    install: InstallMethod::from_command("npm install -g @anthropic-ai/claude-code"),
    login_hint: "run `claude` once and log in, or set ANTHROPIC_API_KEY",
    login_variables: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    login_files: &["~/.claude/.credentials.json", "$CLAUDE_CONFIG_DIR/.credentials.json"],
    login_file_members: &[],
    reports_cost: true,
};

const SPEC: AgentSpec = AgentSpec {
    name: "claude",
    program: AgentProgram::OnPath("claude"),
    output_format: OutputFormat::Claude,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::AgentAssignedId,
    profile: PROFILE,
};

/// `--allowedTools` takes any number of values, so it is followed by another flag.
fn work_args(scope: &WorkScope) -> GrantArgs {
    let rules: Vec<String> = scope.rule_commands().map(|command| format!("Bash({command}:*)")).collect();
    let allowed = rules.first().map(|_| "--allowedTools").into_iter().chain(rules.iter().map(String::as_str));
    let files: &[&str] = match scope.files() {
        FileAccess::Edit => &["--permission-mode", "acceptEdits"],
        FileAccess::Read => &["--disallowedTools", "Edit,Write,NotebookEdit", "--permission-mode", "default"],
    };
    GrantArgs::from_flags(allowed.chain(files.iter().copied()))
}

pub(crate) struct ClaudeAgent;

impl Agent for ClaudeAgent {
    fn hook_protocol(&self) -> Option<&'static dyn HookProtocol> {
        Some(&ClaudeHooks)
    }

    fn host_installer(&self) -> Option<&'static HostInstaller> {
        Some(&CLAUDE_INSTALLER)
    }

    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let invocation = self.base_invocation(request);
        invocation
            .with_flag("--model", request.model)
            .with_flag("--resume", request.resume_session)
            .with_user_additions(request, EXTRA_ENV)
    }

    fn node_option_args(&self, options: &AgentOptions) -> Result<NodeOptionArgs, UnsupportedOption> {
        Ok(option_args(options))
    }

    fn fork_args(&self) -> Option<&'static [&'static str]> {
        Some(&["--fork-session"])
    }

    fn build_one_shot(&self, request: &LaunchRequest<'_>) -> Option<AgentInvocation> {
        let request = LaunchRequest { args_override: None, extra_args: &[], ..*request };
        Some(
            request
                .base_invocation(self.program(), ONE_SHOT_ARGS)
                .with_flag("--model", request.model)
                .with_user_additions(&request, EXTRA_ENV),
        )
    }

    fn can_disable_tools(&self) -> bool {
        true
    }

    fn cheap_model(&self) -> Option<&'static str> {
        Some("haiku")
    }

    fn known_quirks(&self, context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        let root_blocker = self.launch_blocker(
            &LaunchRequest { permission: Some(PermissionLevel::Full), ..LaunchRequest::default() },
            &context.environment,
        );
        let advisory = root_blocker.map(|blocker| AgentAdvisory::new_note(blocker.problem, blocker.hint));
        advisory.into_iter().collect()
    }

    fn launch_blocker(
        &self,
        request: &LaunchRequest<'_>,
        environment: &LaunchEnvironment<'_>,
    ) -> Option<LaunchBlocker> {
        let is_full = request.permission == Some(PermissionLevel::Full);
        let is_refused =
            is_full && environment.is_root && !SANDBOX_VARIABLES.iter().any(|name| (environment.has_variable)(name));
        is_refused.then(|| {
            LaunchBlocker::new(
                "claude refuses permission `full` as root",
                "run ralph as another user, or set IS_SANDBOX=1 if this machine is a disposable sandbox",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::work_scope::work_invocation;

    #[test] // spec: A1, A6
    fn by_default_claude_streams_json_and_may_edit() {
        let invocation = ClaudeAgent.build_invocation(&LaunchRequest { prompt: "go", ..LaunchRequest::default() });
        assert_eq!(invocation.program, "claude");
        assert_eq!(invocation.args.join(" "), "-p --output-format stream-json --verbose --permission-mode acceptEdits");
        assert_eq!(invocation.env, [("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS".to_owned(), "1".to_owned())]);
        assert_eq!(ClaudeAgent.preset().args, invocation.args);
    }

    #[test] // spec: A6
    fn model_session_permission_and_extra_arguments_become_flags() {
        let extra = ["--max-turns".to_owned(), "7".to_owned()];
        let request = LaunchRequest {
            model: Some("haiku"),
            resume_session: Some("abc"),
            permission: Some(PermissionLevel::Full),
            extra_args: &extra,
            ..LaunchRequest::default()
        };
        let args = ClaudeAgent.build_invocation(&request).args.join(" ");
        assert!(args.ends_with("--dangerously-skip-permissions --model haiku --resume abc --max-turns 7"), "{args}");
        assert!(!args.contains("acceptEdits"));
    }

    // finding: N54
    // spec: A11
    #[test]
    fn work_allows_commands_and_takes_the_edit_tools_from_a_judge() {
        let args = |files| work_invocation(&ClaudeAgent, files);
        let coder = args(FileAccess::Edit).args.join(" ");
        assert!(
            coder.ends_with("--allowedTools Bash(make test:*) Bash(git commit:*) --permission-mode acceptEdits"),
            "{coder}"
        );
        let judge = args(FileAccess::Read).args.join(" ");
        assert!(judge.ends_with("--disallowedTools Edit,Write,NotebookEdit --permission-mode default"), "{judge}");
    }

    #[test] // spec: A2, A6
    fn user_arguments_replace_the_preset_but_not_requested_options() {
        let own = ["-p".to_owned()];
        let request = LaunchRequest { args_override: Some(&own), model: Some("opus"), ..LaunchRequest::default() };
        assert_eq!(ClaudeAgent.build_invocation(&request).args, ["-p", "--model", "opus"]);
        let request = LaunchRequest {
            args_override: Some(&own),
            permission: Some(PermissionLevel::Ask),
            ..LaunchRequest::default()
        };
        assert_eq!(ClaudeAgent.build_invocation(&request).args, ["-p", "--permission-mode", "default"]);
    }
}
