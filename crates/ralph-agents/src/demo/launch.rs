//! The built-in scripted agent: ralph's own binary acts as an agent, so that ralph can be tried without an account. It
//! prints Claude's format. This file only describes how to start it; the `demo-agent` command implements it.
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::PermissionGrants;
use crate::profile::{AgentProfile, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;

const DEFAULT_ARGS: &[&str] = &["demo-agent"];

const PROFILE: AgentProfile = AgentProfile {
    npm_package: None,
    tested_version: None,
    install: InstallMethod::BuiltIn,
    login_hint: "it needs no account",
    login_variables: &[],
    login_files: &[],
    login_file_members: &[],
    reports_cost: true,
};

const SPEC: AgentSpec = AgentSpec {
    name: "demo",
    program: AgentProgram::OwnBinary,
    output_format: OutputFormat::Claude,
    default_args: DEFAULT_ARGS,
    grants: PermissionGrants::unsupported(
        "the demo agent takes no permissions from ralph",
        "edits only the files of the demonstration",
    ),
    session_support: SessionSupport::Unsupported,
    profile: PROFILE,
};

pub(crate) struct DemoAgent;

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
    fn the_demo_agent_is_started_as_a_subcommand_of_this_binary() {
        let invocation = DemoAgent.build_invocation(&LaunchRequest {
            program_override: Some("/opt/ralph"),
            prompt: "go",
            ..LaunchRequest::default()
        });
        assert_eq!(
            (invocation.program.as_str(), invocation.args.as_slice()),
            ("/opt/ralph", ["demo-agent".to_owned()].as_slice())
        );
        assert_eq!(DemoAgent.output_format(), OutputFormat::Claude);
    }
}
