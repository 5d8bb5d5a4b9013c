//! Cline: how it is started headless. How its output is read is next door. It cannot resume without a terminal, and
//! leaves a daemon behind that no signal to its group reaches.
mod legacy_records;
mod record;
mod run_records;
mod stream;

pub(super) use stream::stream_parser;

use super::launch::{AgentInvocation, LaunchRequest};
use super::output_format::OutputFormat;
use super::permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel};
use super::profile::{AgentAdvisory, AgentProfile, DiagnosticContext};
use super::registry::{Agent, AgentProgram, SessionSupport};
use super::spec::AgentSpec;

/// A prompt from standard input alone is refused, so some words stand on the command line; with white space in them,
/// or they would be taken for the name of a command.
const DEFAULT_ARGS: &[&str] = &["--json", "Follow the instructions below."];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(&["--auto-approve", "false"], "may use no tool that asks: it can only talk")),
    edits: Err("cline approves all tools or none: choose `ask` or `full`"),
    full: Ok(PermissionGrant::from_flags(&["--auto-approve", "true"], "may do everything, unasked")),
    default_grant: DefaultGrant::Level(PermissionLevel::Ask),
};

/// An update in the middle of a loop changes the program under it.
const EXTRA_ENV: &[(&str, &str)] = &[("CLINE_NO_AUTO_UPDATE", "1")];

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("cline"),
    tested_version: Some("3.0.65"),
    install_hint: "install it with `npm install -g cline`, or choose another with --agent",
    login_hint: "run `cline auth`",
    login_variables: &[],
    login_files: &["~/.cline/data/settings/providers.json"],
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

pub(super) struct ClineAgent;

impl Agent for ClineAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let start = self.base_invocation(request);
        start.with_flag("-m", request.model).with_user_additions(request, EXTRA_ENV)
    }

    fn known_quirks(&self, _context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        let fresh = AgentAdvisory::new_note(
            "it cannot resume a session without a terminal: every iteration starts afresh",
            "put what must be remembered into files, or choose another agent",
        );
        let tools = AgentAdvisory::new_note(
            "it approves all tools or none",
            "unless you say --permission full it can change nothing",
        );
        vec![fresh, tools]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_plain_job_approves_no_tool_by_itself() {
        let start =
            ClineAgent.build_invocation(&LaunchRequest { prompt: "go", model: Some("m"), ..LaunchRequest::default() });
        assert_eq!(start.args, ["--json", "Follow the instructions below.", "--auto-approve", "false", "-m", "m"]);
    }

    #[test] // spec: A6, L10
    fn it_cannot_resume_and_is_given_no_session() {
        let start =
            ClineAgent.build_invocation(&LaunchRequest { resume_session: Some("conv_1"), ..LaunchRequest::default() });
        assert!(!ClineAgent.can_resume());
        assert!(start.args.iter().all(|arg| arg != "conv_1"));
    }
}
