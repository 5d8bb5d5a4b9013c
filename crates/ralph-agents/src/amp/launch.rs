//! Amp. Its output has the same format as Claude's, without a cost.
use crate::claude;
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::PermissionGrants;
use crate::launch::preflight::{LaunchBlocker, LaunchEnvironment};
use crate::profile::{AgentProfile, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;
use crate::stream::parser::StreamParser;

const DEFAULT_ARGS: &[&str] = &["-x", "--stream-json"];

const API_KEY_VARIABLE: &str = "AMP_API_KEY";

pub(crate) fn stream_parser() -> impl StreamParser {
    claude::stream_parser()
}

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@ampcode/cli"),
    tested_version: Some("0.0.1790142911"),
    install: InstallMethod::from_command("npm install -g @ampcode/cli"),
    login_hint: "set AMP_API_KEY in the environment, or under `env:` of the agent in your configuration",
    login_variables: &["AMP_API_KEY"],
    login_files: &[],
    login_file_members: &[],
    reports_cost: false,
};

const SPEC: AgentSpec = AgentSpec {
    name: "amp",
    program: AgentProgram::OnPath("amp"),
    output_format: OutputFormat::Amp,
    default_args: DEFAULT_ARGS,
    grants: PermissionGrants::unsupported(
        "amp takes its permissions from its own settings (amp.permissions, amp.dangerouslyAllowAll)",
        "may do what its own settings allow (amp.permissions, amp.dangerouslyAllowAll)",
    ),
    session_support: SessionSupport::AgentAssignedId,
    profile: PROFILE,
};

pub(crate) struct AmpAgent;

impl Agent for AmpAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    /// `-m` takes a mode (low, medium, high, ultra), which selects the model. A thread is resumed with a leading
    /// subcommand.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let mut invocation =
            self.base_invocation(request).with_flag("-m", request.model).with_user_additions(request, &[]);
        if let Some(thread) = request.resume_session {
            invocation.args.splice(0..0, ["threads", "continue", thread].map(str::to_owned));
        }
        invocation
    }

    /// Without a key, amp prompts for a login and waits forever.
    fn launch_blocker(
        &self,
        _request: &LaunchRequest<'_>,
        environment: &LaunchEnvironment<'_>,
    ) -> Option<LaunchBlocker> {
        let is_missing = !(environment.has_variable)(API_KEY_VARIABLE);
        is_missing.then(|| {
            LaunchBlocker::new(
                format!("amp needs {API_KEY_VARIABLE}: without it, amp waits for an interactive login"),
                PROFILE.login_hint,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_thread_is_resumed_by_a_leading_subcommand() {
        let request = LaunchRequest { model: Some("high"), resume_session: Some("T-1"), ..LaunchRequest::default() };
        assert_eq!(
            AmpAgent.build_invocation(&request).args,
            ["threads", "continue", "T-1", "-x", "--stream-json", "-m", "high"]
        );
    }

    #[test] // spec: A1, L5
    fn amp_is_not_started_without_an_api_key() {
        let environment = |is_set| LaunchEnvironment { is_root: false, has_variable: is_set };
        assert!(AmpAgent.launch_blocker(&LaunchRequest::default(), &environment(&|_| true)).is_none());
        let blocker = AmpAgent.launch_blocker(&LaunchRequest::default(), &environment(&|_| false)).unwrap();
        assert!(blocker.problem.contains("AMP_API_KEY"), "{blocker}");
    }
}
