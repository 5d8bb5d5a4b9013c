//! goose: how `goose run` is started. Its output is parsed in [`stream`].

use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel};
use crate::profile::{AgentAdvisory, AgentProfile, AgentRemedy, DiagnosticContext, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;

const DEFAULT_ARGS: &[&str] = &["run", "-q", "--output-format", "stream-json", "-i", "-"];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_env(
        &[("GOOSE_MODE", "smart_approve")],
        "may read; tools that need approval are refused",
    )),
    edits: Err("goose has no permission for edits only: choose `ask` or `full`"),
    work: Err("goose approves all tools or none, so it cannot be limited to the work on a task: choose `full`"),
    full: Ok(PermissionGrant::from_env(&[("GOOSE_MODE", "auto")], "may do everything without asking")),
    default_grant: DefaultGrant::Level(PermissionLevel::Ask),
};

const PROFILE: AgentProfile = AgentProfile {
    // The version of the npm package differs from goose's version.
    npm_package: None,
    tested_version: Some("1.34.0"),
    install: InstallMethod::from_command("npm install -g @aaif/goose"),
    login_hint: "run `goose configure`, or set GOOSE_PROVIDER, GOOSE_MODEL and the provider's key",
    login_variables: &["GOOSE_PROVIDER"],
    login_files: &["~/.config/goose/config.yaml", "$XDG_CONFIG_HOME/goose/config.yaml"],
    login_file_members: &[],
    reports_cost: false,
};

const SPEC: AgentSpec = AgentSpec {
    name: "goose",
    program: AgentProgram::OnPath("goose"),
    output_format: OutputFormat::Goose,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::CallerAssignedId,
    profile: PROFILE,
};

pub(crate) struct GooseAgent;

impl Agent for GooseAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    /// A session is identified by its name (`-n`) and resumed with `-r`.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let mut invocation = self.base_invocation(request);
        invocation = invocation.with_flag("-n", request.resume_session.or(request.new_session_id));
        if request.resume_session.is_some() {
            invocation.args.push("-r".to_owned());
        }
        if let Some(model) = request.model {
            invocation.env.push(("GOOSE_MODEL".to_owned(), model.to_owned()));
        }
        invocation.with_user_additions(request, &[])
    }

    fn known_quirks(&self, _context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        let no_edits_level = AgentAdvisory::new_note(
            "it has no permission for edits only",
            AgentRemedy::Grant { level: PermissionLevel::Full, otherwise: "tools that need approval are refused" },
        );
        vec![no_edits_level]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_session_is_named_when_it_starts_and_when_it_resumes() {
        let base = "run -q --output-format stream-json -i -";
        let new = GooseAgent.build_invocation(&LaunchRequest { new_session_id: Some("u"), ..LaunchRequest::default() });
        assert_eq!(new.args.join(" "), format!("{base} -n u"));
        let old = GooseAgent.build_invocation(&LaunchRequest {
            resume_session: Some("s"),
            new_session_id: Some("u"),
            ..LaunchRequest::default()
        });
        assert_eq!(old.args.join(" "), format!("{base} -n s -r"));
    }

    #[test] // spec: A6
    fn model_and_permission_are_set_by_variables() {
        let request =
            LaunchRequest { model: Some("m"), permission: Some(PermissionLevel::Full), ..LaunchRequest::default() };
        let env = GooseAgent.build_invocation(&request).env;
        assert!(env.contains(&("GOOSE_MODE".into(), "auto".into())), "{env:?}");
        assert!(env.contains(&("GOOSE_MODEL".into(), "m".into())), "{env:?}");
    }
}
