//! The built-in scripted agent: this binary plays one, so that everything can be tried without an account.
//! It speaks Claude's format. What it does is written where the command lives; here is only how to start it.
use super::launch::{AgentInvocation, LaunchRequest};
use super::output_format::OutputFormat;
use super::permission::PermissionGrants;
use super::profile::AgentProfile;
use super::registry::{Agent, AgentProgram, SessionSupport};
use super::spec::AgentSpec;

const DEFAULT_ARGS: &[&str] = &["demo-agent"];

const PROFILE: AgentProfile = AgentProfile {
    npm_package: None,
    tested_version: None,
    install_hint: "it is part of ralph itself",
    login_hint: "it needs no account",
    login_variables: &[],
    login_files: &[],
    reports_cost: true,
};

const SPEC: AgentSpec = AgentSpec {
    name: "demo",
    program: AgentProgram::OwnBinary,
    output_format: OutputFormat::Claude,
    default_args: DEFAULT_ARGS,
    grants: PermissionGrants::unsupported(
        "the demo agent takes no permissions from ralph",
        "edits files of its own demonstration only",
    ),
    session_support: SessionSupport::Unsupported,
    profile: PROFILE,
};

pub(super) struct DemoAgent;

impl Agent for DemoAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        self.base_invocation(request).with_user_additions(request, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A9
    fn the_demo_agent_is_this_binary_in_another_role() {
        let start = DemoAgent.build_invocation(&LaunchRequest {
            program_override: Some("/opt/ralph"),
            prompt: "go",
            ..LaunchRequest::default()
        });
        assert_eq!(
            (start.program.as_str(), start.args.as_slice()),
            ("/opt/ralph", ["demo-agent".to_owned()].as_slice())
        );
        assert_eq!(DemoAgent.output_format(), OutputFormat::Claude);
    }
}
