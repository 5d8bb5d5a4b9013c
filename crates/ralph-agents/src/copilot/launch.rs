//! GitHub Copilot CLI: how it is started in headless mode. Its output is parsed in [`stream`].

use std::collections::BTreeSet;

use super::hooks::CopilotHooks;
use super::install::COPILOT_INSTALLER;
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
use crate::stream::output_format::OutputFormat;

/// With `--stream off`, a message arrives only once, as a whole. Otherwise it also arrives in pieces before.
const DEFAULT_ARGS: &[&str] = &["--output-format", "json", "--no-ask-user", "--stream", "off"];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(&[], "may read; tools that need a permission are denied")),
    edits: Ok(PermissionGrant::from_flags(
        &["--allow-tool", "write"],
        "may edit files in the project, also with simple commands; other commands (tests, git) are denied",
    )),
    work: Ok(WorkGrant {
        build_args: work_args,
        edit_description: "may edit files in the project, run the programs of its checks and of its usual builds and tests, \
             and commit; other programs are denied",
        read_description: "may read files, and run the programs of the project's checks and of its usual builds and tests; it cannot edit",
    }),
    full: Ok(PermissionGrant::from_flags(
        &["--yolo"],
        "may do everything without asking: all tools, paths and addresses",
    )),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

/// An automatic update would replace the program during a run.
const EXTRA_ENV: &[(&str, &str)] = &[("COPILOT_AUTO_UPDATE", "false")];

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@github/copilot"),
    tested_version: Some("1.0.102"),
    install: InstallMethod::from_command("npm install -g @github/copilot"),
    login_hint: "run `copilot` once and `/login`, or set GITHUB_TOKEN; for your own provider, set COPILOT_PROVIDER_BASE_URL",
    login_variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"],
    login_files: &["~/.copilot/config.json", "$COPILOT_HOME/config.json"],
    login_file_members: &["logged_in_users", "loggedInUsers", "copilot_tokens", "copilotTokens"],
    reports_cost: false,
};

const SPEC: AgentSpec = AgentSpec {
    name: "copilot",
    program: AgentProgram::OnPath("copilot"),
    output_format: OutputFormat::Copilot,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::CallerAssignedId,
    profile: PROFILE,
};

/// Copilot knows the subcommands of some programs, such as git and cargo. It matches other programs by their name alone, so
/// that both forms of a rule are needed. `--allow-tool` takes any number of values, so each rule has its own flag.
fn work_args(scope: &WorkScope) -> GrantArgs {
    let files = match scope.files() {
        FileAccess::Edit => ["--allow-tool", "write"],
        FileAccess::Read => ["--deny-tool", "write"],
    };
    let programs: BTreeSet<&str> = scope.rule_commands().filter_map(program_name).collect();
    let programs = programs.into_iter().map(|program| format!("shell({program})"));
    let rules: Vec<String> =
        scope.rule_commands().map(|command| format!("shell({command}:*)")).chain(programs).collect();
    GrantArgs::from_flags(files.into_iter().chain(rules.iter().flat_map(|rule| ["--allow-tool", rule])))
}

/// Returns the program that a command starts, after the variables that it sets.
fn program_name(command: &str) -> Option<&str> {
    command.split_whitespace().find(|word| !word.contains('='))
}

pub(crate) struct CopilotAgent;

impl Agent for CopilotAgent {
    fn hook_protocol(&self) -> Option<&'static dyn HookProtocol> {
        Some(&CopilotHooks)
    }

    fn host_installer(&self) -> Option<&'static HostInstaller> {
        Some(&COPILOT_INSTALLER)
    }

    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let mut invocation = self.base_invocation(request).with_flag("--model", request.model);
        match (request.resume_session, request.new_session_id) {
            (Some(session), _) => invocation.args.push(format!("--resume={session}")),
            (None, new) => invocation = invocation.with_flag("--session-id", new),
        }
        if request.args_override.is_none() {
            invocation = invocation.with_flag("--usage-output-file", request.usage_file);
        }
        invocation.with_user_additions(request, EXTRA_ENV)
    }

    fn writes_usage_file(&self) -> bool {
        true
    }

    fn known_quirks(&self, _context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        let late_usage = AgentAdvisory::new_note(
            "it reports no cost, and tokens only when it exits: a cost limit has no effect, a token limit applies only between attempts",
            "limit iterations or time instead",
        );
        vec![late_usage]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_new_session_gets_the_given_id_and_an_old_one_is_resumed() {
        let base = "--output-format json --no-ask-user --stream off --allow-tool write";
        let new = CopilotAgent.build_invocation(&LaunchRequest {
            new_session_id: Some("u"),
            model: Some("m"),
            ..LaunchRequest::default()
        });
        assert_eq!(new.args.join(" "), format!("{base} --model m --session-id u"));
        let old = CopilotAgent.build_invocation(&LaunchRequest {
            resume_session: Some("s"),
            new_session_id: Some("u"),
            ..LaunchRequest::default()
        });
        assert_eq!(old.args.join(" "), format!("{base} --resume=s"));
    }

    // spec: A11
    #[test]
    fn a_command_is_allowed_by_its_subcommand_and_by_its_program() {
        let scope = WorkScope::new(["sh check.sh", "git add"], FileAccess::Edit);
        let request = LaunchRequest {
            permission: Some(PermissionLevel::Work),
            work_scope: Some(&scope),
            ..LaunchRequest::default()
        };
        let args = CopilotAgent.build_invocation(&request).args;
        let rules: Vec<&str> = args.iter().skip(5).map(String::as_str).filter(|arg| *arg != "--allow-tool").collect();
        assert_eq!(rules, ["write", "shell(sh check.sh:*)", "shell(git add:*)", "shell(git)", "shell(sh)"]);
    }

    #[test] // spec: A6, L8
    fn the_usage_file_is_passed_unless_the_user_overrides_the_arguments() {
        let request = LaunchRequest { usage_file: Some("/u"), ..LaunchRequest::default() };
        let args = CopilotAgent.build_invocation(&request).args.join(" ");
        assert!(args.ends_with("--usage-output-file /u"), "{args}");
        let own = ["--output-format".to_owned(), "json".to_owned()];
        assert_eq!(CopilotAgent.build_invocation(&LaunchRequest { args_override: Some(&own), ..request }).args, own);
    }
}
