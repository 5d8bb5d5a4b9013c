//! Amp. Its output has Claude's shape, without a cost.
use super::claude;
use super::launch::{AgentInvocation, LaunchRequest};
use super::output_format::OutputFormat;
use super::parser::StreamParser;
use super::permission::PermissionGrants;
use super::preflight::{LaunchBlocker, LaunchEnvironment};
use super::profile::AgentProfile;
use super::registry::{Agent, AgentProgram, SessionSupport};
use super::spec::AgentSpec;

const DEFAULT_ARGS: &[&str] = &["-x", "--stream-json"];

const API_KEY_VARIABLE: &str = "AMP_API_KEY";

pub(super) fn stream_parser() -> impl StreamParser {
    claude::stream_parser()
}

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@sourcegraph/amp"),
    tested_version: Some("0.0.1790142911"),
    install_hint: "install it with `npm install -g @sourcegraph/amp`, or choose another with --agent",
    login_hint: "set AMP_API_KEY in the environment, or under `env:` of the agent in your own configuration",
    login_variables: &["AMP_API_KEY"],
    login_files: &[],
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

pub(super) struct AmpAgent;

impl Agent for AmpAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    /// What it calls a mode (low, medium, high, ultra) chooses its model. A thread is resumed by a command in front.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let mut start = self.base_invocation(request).with_flag("-m", request.model).with_user_additions(request, &[]);
        if let Some(thread) = request.resume_session {
            start.args.splice(0..0, ["threads", "continue", thread].map(str::to_owned));
        }
        start
    }

    /// Without a key it asks for one, and waits for ever.
    fn launch_blocker(
        &self,
        _request: &LaunchRequest<'_>,
        environment: &LaunchEnvironment<'_>,
    ) -> Option<LaunchBlocker> {
        let is_missing = !(environment.has_variable)(API_KEY_VARIABLE);
        is_missing.then(|| {
            LaunchBlocker::new(
                format!("amp needs {API_KEY_VARIABLE}: without it, it waits for a login that nobody can give"),
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
    fn without_a_key_it_is_not_started() {
        let around = |is_set| LaunchEnvironment { is_root: false, has_variable: is_set };
        assert!(AmpAgent.launch_blocker(&LaunchRequest::default(), &around(&|_| true)).is_none());
        let obstacle = AmpAgent.launch_blocker(&LaunchRequest::default(), &around(&|_| false)).unwrap();
        assert!(obstacle.problem.contains("AMP_API_KEY"), "{obstacle}");
    }
}
