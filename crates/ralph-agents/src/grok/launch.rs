//! How `grok` is started in headless mode. It takes the prompt from a file, not from stdin, so that file is stdin.
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{DefaultGrant, PermissionGrant, PermissionGrants, PermissionLevel};
use crate::profile::{AgentProfile, InstallMethod};
use crate::registry::{Agent, AgentProgram, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::output_format::OutputFormat;

const DEFAULT_ARGS: &[&str] =
    &["--no-auto-update", "--output-format", "streaming-messages-json", "--prompt-file", "/dev/stdin"];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &["--permission-mode", "default"],
        "may do only what its settings allow; everything else is denied",
    )),
    edits: Ok(PermissionGrant::from_flags(
        &["--permission-mode", "acceptEdits"],
        "may edit files; other actions only if its settings allow them",
    )),
    work: Err("it is not verified that grok can allow single commands: choose `edits` or `full`"),
    full: Ok(PermissionGrant::from_flags(
        &["--permission-mode", "bypassPermissions"],
        "may do everything without asking",
    )),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@xai-official/grok"),
    tested_version: None,
    install: InstallMethod::from_command("npm install -g @xai-official/grok"),
    login_hint: "run `grok login`, or set XAI_API_KEY",
    login_variables: &["XAI_API_KEY"],
    login_files: &["~/.grok/auth.json"],
    login_file_members: &[],
    reports_cost: false,
};

const SPEC: AgentSpec = AgentSpec {
    name: "grok",
    program: AgentProgram::OnPath("grok"),
    output_format: OutputFormat::Claude,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::AgentAssignedId,
    profile: PROFILE,
};

pub(crate) struct GrokAgent;

impl Agent for GrokAgent {
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
    use crate::tests::{final_text, parse_events};

    // finding: N75
    // spec: A3
    #[test]
    fn the_prompt_is_read_from_stdin_and_its_records_are_those_of_claude() {
        let invocation = GrokAgent.build_invocation(&LaunchRequest { prompt: "go", ..LaunchRequest::default() });
        let args = invocation.args.join(" ");
        assert!(args.contains("--prompt-file /dev/stdin") && !args.contains("go "), "{args}");
        let records = [
            r#"{"type":"system","subtype":"init","session_id":"s1","model":"grok-4"}"#,
            r#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Done. <promise>COMPLETE</promise>"}]},"session_id":"s1"}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"Done. <promise>COMPLETE</promise>","session_id":"s1"}"#,
        ];
        let events = parse_events(GrokAgent.output_format(), &records.join("\n"));
        assert_eq!(final_text(&events), "Done. <promise>COMPLETE</promise>");
    }
}
