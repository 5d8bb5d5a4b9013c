//! Qwen Code. Its output has the same format as Claude's, without a cost. It also writes API errors as if they were
//! agent text.
use super::hooks::QwenHooks;
use super::install::QWEN_INSTALLER;
use crate::claude;
use crate::hooks::HookProtocol;
use crate::install::HostInstaller;
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::permission::{
    DefaultGrant, GrantArgs, PermissionGrant, PermissionGrants, PermissionLevel, WorkGrant,
};
use crate::launch::work_scope::{FileAccess, WorkScope};
use crate::profile::{AgentProfile, InstallMethod};
use crate::registry::{Agent, AgentProgram, ExitMeaning, SessionSupport};
use crate::spec::AgentSpec;
use crate::stream::event::AgentErrorKind;
use crate::stream::output_format::OutputFormat;
use crate::stream::parser::StreamParser;

const DEFAULT_ARGS: &[&str] = &["-o", "stream-json"];

const PERMISSION_GRANTS: PermissionGrants = PermissionGrants {
    ask: Ok(PermissionGrant::from_flags(
        &["--approval-mode", "default"],
        "may read; tools that edit files or run commands are not available",
    )),
    edits: Ok(PermissionGrant::from_flags(
        &["--approval-mode", "auto-edit"],
        "may edit files; it cannot run commands (tests, git)",
    )),
    work: Ok(WorkGrant {
        build_args: work_args,
        edit_description: "may edit files, run the project's checks and usual build and test commands, and commit; other \
             commands are denied",
        read_description: "may read files, and run the project's checks and usual build and test commands; it cannot \
             edit",
    }),
    full: Ok(PermissionGrant::from_flags(&["--approval-mode", "yolo"], "may do everything without asking")),
    default_grant: DefaultGrant::Level(PermissionLevel::Edits),
};

pub(crate) fn stream_parser() -> impl StreamParser {
    claude::compatible_stream_parser()
}

const PROFILE: AgentProfile = AgentProfile {
    npm_package: Some("@qwen-code/qwen-code"),
    tested_version: Some("0.24.4"),
    install: InstallMethod::Command {
        command: "npm install -g @qwen-code/qwen-code",
        requirement: Some("Node.js 22 or newer"),
    },
    login_hint: "run `qwen` once and log in, or set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL)",
    login_variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
    login_files: &["~/.qwen/oauth_creds.json"],
    login_file_members: &[],
    reports_cost: false,
};

const SPEC: AgentSpec = AgentSpec {
    name: "qwen",
    program: AgentProgram::OnPath("qwen"),
    output_format: OutputFormat::Qwen,
    default_args: DEFAULT_ARGS,
    grants: PERMISSION_GRANTS,
    session_support: SessionSupport::CallerAssignedId,
    profile: PROFILE,
};

fn work_args(scope: &WorkScope) -> GrantArgs {
    let mode = match scope.files() {
        FileAccess::Edit => "auto-edit",
        FileAccess::Read => "default",
    };
    let rules: Vec<String> = scope.rule_commands().map(|command| format!("run_shell_command({command})")).collect();
    let rules = rules.iter().flat_map(|rule| ["--allowed-tools", rule]);
    GrantArgs::from_flags(["--approval-mode", mode].into_iter().chain(rules))
}

pub(crate) struct QwenAgent;

impl Agent for QwenAgent {
    fn hook_protocol(&self) -> Option<&'static dyn HookProtocol> {
        Some(&QwenHooks)
    }

    fn host_installer(&self) -> Option<&'static HostInstaller> {
        Some(&QWEN_INSTALLER)
    }

    fn spec(&self) -> &'static AgentSpec {
        &SPEC
    }

    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let invocation = self.base_invocation(request).with_flag("-m", request.model);
        invocation.with_session("--resume", "--session-id", request).with_user_additions(request, &[])
    }

    fn exit_meaning(&self, code: i32) -> Option<ExitMeaning> {
        match code {
            53 => Some(ExitMeaning::new(AgentErrorKind::Budget, "it reached its turn limit")),
            55 => Some(ExitMeaning::new(AgentErrorKind::Budget, "it reached its limit of time or tool calls")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::work_scope::work_invocation;
    use crate::tests::{final_text, parse_events};
    use crate::{AgentEvent, PriorUsage};

    #[test] // spec: A5, S2
    fn an_api_error_is_not_agent_text() {
        let assistant_line = |text: &str| {
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"SAID"}]}}"#.replace("SAID", text)
        };
        let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#;
        let found = parse_events(OutputFormat::Qwen, &[&assistant_line("[API Error: 401 no key]"), result].join("\n"));
        assert_eq!(final_text(&found), "");
        assert!(found.contains(&AgentEvent::Error {
            kind: AgentErrorKind::Auth,
            message: "error_during_execution".into(),
            fatal: true
        }));
        let found = parse_events(OutputFormat::Qwen, &assistant_line("I saw [API Error: 401] in the log"));
        assert_eq!(final_text(&found), "I saw [API Error: 401] in the log");
    }

    #[test] // spec: A5, L8
    fn a_resumed_session_reports_only_new_usage() {
        let recorded = include_bytes!("../../transcripts/qwen/sid-resume.stdout");
        let (mut parser, mut out) = (crate::parser_for_format(OutputFormat::Qwen), Vec::new());
        parser.continue_session(PriorUsage {
            input_tokens: Some(203),
            output_tokens: Some(40),
            ..PriorUsage::default()
        });
        parser.push(recorded, &mut out);
        let added = AgentEvent::Usage { input_tokens: Some(203), output_tokens: Some(40), cost_usd: None };
        assert!(out.contains(&added), "{out:?}");
    }

    // finding: N54
    // spec: A11
    #[test]
    fn work_allows_commands_and_offers_no_edit_tools_to_a_judge() {
        let args = |files| work_invocation(&QwenAgent, files);
        let coder = args(FileAccess::Edit).args.join(" ");
        let rules = "--allowed-tools run_shell_command(make test) --allowed-tools run_shell_command(git commit)";
        assert!(coder.ends_with(&format!("--approval-mode auto-edit {rules}")), "{coder}");
        let judge = args(FileAccess::Read).args.join(" ");
        assert!(judge.ends_with(&format!("--approval-mode default {rules}")), "{judge}");
    }

    #[test] // spec: A1, A6
    fn a_new_session_gets_the_given_id_and_an_old_one_is_resumed() {
        let new = QwenAgent.build_invocation(&LaunchRequest { new_session_id: Some("u"), ..LaunchRequest::default() });
        assert_eq!(new.args.join(" "), "-o stream-json --approval-mode auto-edit --session-id u");
        let old = QwenAgent.build_invocation(&LaunchRequest {
            resume_session: Some("s"),
            new_session_id: Some("u"),
            ..LaunchRequest::default()
        });
        assert_eq!(old.args.join(" "), "-o stream-json --approval-mode auto-edit --resume s");
    }
}
