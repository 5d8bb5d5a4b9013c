//! Cline: how it is started in headless mode. Its output is parsed in [`stream`]. Cline cannot resume without a
//! terminal, and it starts a daemon outside of its process group that survives it.

use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel};
use crate::profile::{AgentAdvisory, AgentProfile, AgentRemedy, DiagnosticContext, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;

/// Cline rejects a prompt that comes only from stdin, so there is a sentence on the command line. It contains spaces,
/// because a single word would be interpreted as a subcommand.
const DEFAULT_ARGS: &[&str] = &["--json", "Follow the instructions below."];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &["--auto-approve", "false"],
        "may use no tool that needs approval: it can only answer",
    )),
    edits: Err("cline approves all tools or none: choose `ask` or `full`"),
    work: Err("cline approves all tools or none, so it cannot be limited to the work on a task: choose `full`"),
    full: Ok(PermissionGrant::from_flags(&["--auto-approve", "true"], "may do everything without asking")),
    default_grant: DefaultGrant::Level(PermissionLevel::Ask),
};

/// An automatic update would replace the program during a run.
const EXTRA_ENV: &[(&str, &str)] = &[("CLINE_NO_AUTO_UPDATE", "1")];

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("cline"),
    tested_version: Some("3.0.65"),
    install: InstallMethod::from_command("npm install -g cline"),
    login_hint: "run `cline auth`",
    login_variables: &[],
    login_files: &["~/.cline/data/settings/providers.json"],
    login_file_members: &[],
    reports_cost: true,
};

const SPEC: AgentSpec = AgentSpec {
    name: "cline",
    program: AgentProgram::OnPath("cline"),
    output_format: OutputFormat::Cline,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::Unsupported,
    profile: PROFILE,
};

pub(crate) struct ClineAgent;

impl Agent for ClineAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let invocation = self.base_invocation(request);
        invocation.with_flag("-m", request.model).with_user_additions(request, EXTRA_ENV)
    }

    fn known_quirks(&self, _context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        let no_resume = AgentAdvisory::new_note(
            "it cannot resume a session without a terminal: every iteration starts a new session",
            "let it keep notes in files, or choose another agent",
        );
        let all_or_nothing = AgentAdvisory::new_note(
            "it approves all tools or none",
            AgentRemedy::Grant { level: PermissionLevel::Full, otherwise: "it cannot change anything" },
        );
        vec![no_resume, all_or_nothing]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn by_default_cline_approves_no_tool() {
        let invocation =
            ClineAgent.build_invocation(&LaunchRequest { prompt: "go", model: Some("m"), ..LaunchRequest::default() });
        assert_eq!(invocation.args, ["--json", "Follow the instructions below.", "--auto-approve", "false", "-m", "m"]);
    }

    #[test] // spec: A6, L10
    fn cline_cannot_resume_and_gets_no_session() {
        let invocation =
            ClineAgent.build_invocation(&LaunchRequest { resume_session: Some("conv_1"), ..LaunchRequest::default() });
        assert!(!ClineAgent.can_resume());
        assert!(invocation.args.iter().all(|arg| arg != "conv_1"));
    }
}
