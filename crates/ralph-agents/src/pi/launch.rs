//! How `pi` is started in JSON mode. It reads the prompt from stdin. It has no permission system, but its tools can be
//! limited.
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel};
use crate::profile::{AgentProfile, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;

const DEFAULT_ARGS: &[&str] = &["--mode", "json"];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &["--tools", "read,grep,find,ls"],
        "may read; it has no tools to change files",
    )),
    edits: Ok(PermissionGrant::from_flags(
        &["--tools", "read,grep,find,ls,edit,write"],
        "may edit files; it cannot run commands (tests, git)",
    )),
    work: Err("pi allows all commands or none: choose `edits` or `full`"),
    full: Ok(PermissionGrant::from_flags(&[], "may do everything without asking")),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@earendil-works/pi-coding-agent"),
    tested_version: None,
    install: InstallMethod::from_command("npm install -g @earendil-works/pi-coding-agent"),
    login_hint: "run `pi` once and `/login`, or set the key of a provider, such as ANTHROPIC_API_KEY",
    login_variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
    login_files: &["~/.pi/agent/auth.json"],
    login_file_members: &[],
    reports_cost: true,
};

const SPEC: AgentSpec = AgentSpec {
    name: "pi",
    program: AgentProgram::OnPath("pi"),
    output_format: OutputFormat::Pi,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::AgentAssignedId,
    profile: PROFILE,
};

pub(crate) struct PiAgent;

impl Agent for PiAgent {
    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let invocation = self.base_invocation(request);
        invocation
            .with_flag("--model", request.model)
            .with_flag("--session", request.resume_session)
            .with_user_additions(request, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding: N75
    #[test]
    fn tools_are_limited_unless_everything_is_permitted() {
        let args = |permission| {
            PiAgent.build_invocation(&LaunchRequest { permission, ..LaunchRequest::default() }).args.join(" ")
        };
        assert_eq!(args(None), "--mode json --tools read,grep,find,ls,edit,write");
        assert_eq!(args(Some(PermissionLevel::Ask)), "--mode json --tools read,grep,find,ls");
        assert_eq!(args(Some(PermissionLevel::Full)), "--mode json");
    }
}
