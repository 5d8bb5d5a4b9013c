//! How `cursor-agent` is started in headless mode. It reads the prompt from stdin.
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel};
use crate::profile::{AgentProfile, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;

const DEFAULT_ARGS: &[&str] = &["-p", "--output-format", "stream-json"];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &[],
        "may do only what its settings allow; without --force it proposes changes",
    )),
    edits: Err("cursor changes files only with --force, which allows commands too: choose `ask` or `full`"),
    work: Err("cursor changes files only with --force, which allows every command: choose `full`"),
    full: Ok(PermissionGrant::from_flags(&["--force"], "may do everything that its settings do not deny")),
    default_grant: DefaultGrant::Level(PermissionLevel::Ask),
};

const PROFILE: AgentProfile = AgentProfile {
    npm_package: None,
    tested_version: None,
    install: InstallMethod::from_command("curl https://cursor.com/install -fsS | bash"),
    login_hint: "run `cursor-agent login`, or set CURSOR_API_KEY",
    login_variables: &["CURSOR_API_KEY"],
    login_files: &[],
    login_file_members: &[],
    reports_cost: false,
};

const SPEC: AgentSpec = AgentSpec {
    name: "cursor",
    program: AgentProgram::OnPath("cursor-agent"),
    output_format: OutputFormat::Cursor,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::AgentAssignedId,
    profile: PROFILE,
};

pub(crate) struct CursorAgent;

impl Agent for CursorAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let invocation = self.base_invocation(request);
        invocation
            .with_flag("--model", request.model)
            .with_flag("--resume", request.resume_session)
            .with_user_additions(request, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding: N75
    #[test]
    fn a_session_is_resumed_with_the_documented_flags() {
        let request = LaunchRequest {
            model: Some("m"),
            resume_session: Some("s"),
            permission: Some(PermissionLevel::Full),
            ..LaunchRequest::default()
        };
        let args = CursorAgent.build_invocation(&request).args.join(" ");
        assert_eq!(args, "-p --output-format stream-json --force --model m --resume s");
    }
}
