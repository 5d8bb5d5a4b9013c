//! The supported agents. To add one, add its folder, its `mod` in `lib.rs` and a line in [`AGENTS`]; a new output format
//! also needs a variant of [`OutputFormat`] and a line in [`parser_for_format`].
use crate::acp::{AcpAgent, presets};
use crate::amp::AmpAgent;
use crate::claude::ClaudeAgent;
use crate::cline::ClineAgent;
use crate::codex::CodexAgent;
use crate::copilot::CopilotAgent;
use crate::cursor::CursorAgent;
use crate::demo::DemoAgent;
use crate::failure::infer_failure::AgentExit;
use crate::gemini::GeminiAgent;
use crate::goose::GooseAgent;
use crate::grok::GrokAgent;
use crate::hooks::HookProtocol;
use crate::install::HostInstaller;
use crate::launch::invocation::{AgentInvocation, LaunchRequest};
use crate::launch::node_options::{NodeOptionArgs, UnsupportedOption, refuse_protections};
use crate::launch::permission::PermissionGrants;
use crate::launch::preflight::{LaunchBlocker, LaunchEnvironment};
use crate::launch::preset::AgentPreset;
use crate::opencode::OpencodeAgent;
use crate::pi::PiAgent;
use crate::profile::{AgentAdvisory, AgentProfile, DiagnosticContext};
use crate::qwen::QwenAgent;
use crate::spec::AgentSpec;
use crate::stream::event::{AgentErrorKind, AgentEvent};
use crate::stream::output_format::OutputFormat;
use crate::stream::parser::{StreamParser, parser_for_format};
use crate::text::TextAgent;
use ralph_core::workflow::AgentOptions;
use ralph_util::suggest;

pub const AGENTS: &[&dyn Agent] = &[
    &ClaudeAgent,
    &CodexAgent,
    &OpencodeAgent,
    &GeminiAgent,
    &QwenAgent,
    &CopilotAgent,
    &ClineAgent,
    &GooseAgent,
    &AmpAgent,
    &CursorAgent,
    &PiAgent,
    &GrokAgent,
    &&presets::KIMI,
    &&presets::VIBE,
    &&presets::KIRO,
    &&presets::CURSOR_AGENT,
    &&presets::AUGGIE,
    &&presets::DROID,
    &&presets::CLAUDE_AGENT_ACP,
    &&presets::CODEX_ACP,
    &AcpAgent,
    &TextAgent,
    &DemoAgent,
];

/// Everything that is specific to one coding agent.
pub trait Agent: Sync {
    /// Returns its static description.
    fn spec(&self) -> &'static AgentSpec;

    /// Returns how to start it for this request.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation;

    /// Creates an invocation with the program, its arguments, and its permission.
    fn base_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let spec = self.spec();
        request.base_invocation(spec.program, spec.default_args).with_permission(request, &spec.grants)
    }

    fn name(&self) -> &'static str {
        self.spec().name
    }

    fn program(&self) -> AgentProgram {
        self.spec().program
    }

    fn grants(&self) -> PermissionGrants {
        self.spec().grants
    }

    fn session_support(&self) -> SessionSupport {
        self.spec().session_support
    }

    fn profile(&self) -> AgentProfile {
        self.spec().profile
    }

    fn output_format(&self) -> OutputFormat {
        self.spec().output_format
    }

    /// Returns the settings that the user can override.
    fn preset(&self) -> AgentPreset {
        self.spec().to_preset()
    }

    /// Returns the arguments for the options of a workflow node. Fails if it cannot honour one that protects or that changes
    /// the task.
    fn node_option_args(&self, options: &AgentOptions) -> Result<NodeOptionArgs, UnsupportedOption> {
        refuse_protections(self.name(), options)
    }

    /// Returns the arguments with which it forks the session that it resumes, if it can.
    fn fork_args(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Returns how to ask it one question without tools, in a session that is not stored. `None` if it does not support
    /// this. Ignores the permission, the session and the extra arguments of the request.
    fn build_one_shot(&self, _request: &LaunchRequest<'_>) -> Option<AgentInvocation> {
        None
    }

    /// Returns whether [`Agent::build_one_shot`] disables its tools, so that it can judge without being chosen as a judge.
    fn can_disable_tools(&self) -> bool {
        false
    }

    /// Returns the stable name of a cheap model, if there is one.
    fn cheap_model(&self) -> Option<&'static str> {
        None
    }

    /// Returns what the user should know about it on this machine.
    fn advisories(&self, context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        self.profile().version_advisory(context).into_iter().chain(self.known_quirks(context)).collect()
    }

    /// Returns its known problems and limitations, apart from an outdated version.
    fn known_quirks(&self, _context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        Vec::new()
    }

    /// Returns whether it supports [`LaunchRequest::resume_session`].
    fn can_resume(&self) -> bool {
        match self.session_support() {
            SessionSupport::Unsupported => false,
            SessionSupport::AgentAssignedId | SessionSupport::CallerAssignedId => true,
        }
    }

    /// Returns the meaning of an exit code that is specific to this agent.
    fn exit_meaning(&self, _code: i32) -> Option<ExitMeaning> {
        None
    }

    /// Returns how to fix a start that failed because of a missing login.
    fn login_remedy(&self, _exit: AgentExit) -> &'static str {
        self.profile().login_hint
    }

    /// Returns the event for a stderr line about a request that the agent retries, if its records do not report that.
    fn parse_stderr_notice(&self, _line: &str) -> Option<AgentEvent> {
        None
    }

    /// Returns a problem that is certain to make this start fail or hang.
    fn launch_blocker(
        &self,
        _request: &LaunchRequest<'_>,
        _environment: &LaunchEnvironment<'_>,
    ) -> Option<LaunchBlocker> {
        None
    }

    /// Returns whether it writes its token usage to [`LaunchRequest::usage_file`] when it exits.
    fn writes_usage_file(&self) -> bool {
        false
    }

    /// Returns how its hooks are answered, if a loop can run inside its sessions.
    fn hook_protocol(&self) -> Option<&'static dyn HookProtocol> {
        None
    }

    /// Returns how ralph is installed into it, if that is possible.
    fn host_installer(&self) -> Option<&'static HostInstaller> {
        None
    }

    fn new_parser(&self) -> Box<dyn StreamParser> {
        parser_for_format(self.output_format())
    }

    /// Returns the signal on which it also stops its child processes.
    fn graceful_signal(&self) -> GracefulSignal {
        GracefulSignal::Term
    }
}

/// The executable of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentProgram {
    /// Found on PATH under this name.
    OnPath(&'static str),
    /// ralph's own binary. The caller passes its path in [`LaunchRequest::program_override`].
    OwnBinary,
    /// The user must name the program, in [`LaunchRequest::program_override`].
    UserProvided,
}

impl AgentProgram {
    /// Returns the name to look up on PATH, or an empty string if the user must name the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnPath(name) => name,
            Self::OwnBinary => "ralph",
            Self::UserProvided => "",
        }
    }
}

/// The meaning of an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitMeaning {
    pub kind: AgentErrorKind,
    pub description: &'static str,
}

impl ExitMeaning {
    pub(super) const fn new(kind: AgentErrorKind, description: &'static str) -> Self {
        Self { kind, description }
    }
}

/// Whether an agent can resume sessions, and who assigns their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSupport {
    /// Every start is a new session.
    Unsupported,
    /// The agent reports its session id in its output.
    AgentAssignedId,
    /// The caller passes the id of a new session ([`LaunchRequest::new_session_id`]) and must remember it: the agent
    /// reports it only at the end, or not at all.
    CallerAssignedId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GracefulSignal {
    Term,
    Int,
}

/// An unknown agent name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no agent named {name:?}")]
pub struct UnknownAgent {
    name: String,
}

impl UnknownAgent {
    /// Returns a hint that suggests a valid name.
    pub fn hint(&self) -> String {
        let names: Vec<_> = AGENTS.iter().map(|agent| agent.name()).collect();
        suggest::suggestion_hint(&self.name, &names)
    }
}

/// Returns the agent with this name.
pub fn find_agent(name: &str) -> Result<&'static dyn Agent, UnknownAgent> {
    let found = AGENTS.iter().copied().find(|agent| agent.name() == name);
    found.ok_or_else(|| UnknownAgent { name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1
    fn every_agent_is_found_by_its_name_and_names_are_unique() {
        for (at, agent) in AGENTS.iter().enumerate() {
            assert_eq!(find_agent(agent.name()).unwrap().name(), agent.name());
            assert!(AGENTS.iter().skip(at + 1).all(|other| other.name() != agent.name()));
        }
    }

    #[test] // spec: A1
    fn a_mistyped_agent_is_refused_with_a_suggestion() {
        let error = find_agent("cluade").err().unwrap();
        assert_eq!(error.to_string(), "there is no agent named \"cluade\"");
        assert_eq!(error.hint(), "did you mean claude?");
        let names = "claude, codex, opencode, gemini, qwen, copilot, cline, goose, amp, cursor, pi, grok, kimi, vibe, kiro, cursor-agent, auggie, droid, claude-agent-acp, codex-acp, acp, text, demo";
        assert_eq!(find_agent("aider").err().unwrap().hint(), format!("choose one of {names}"));
    }

    #[test] // spec: A3
    fn the_prompt_is_never_on_the_command_line() {
        let request = LaunchRequest {
            prompt: "SECRET PLAN",
            model: Some("m"),
            resume_session: Some("s"),
            ..LaunchRequest::default()
        };
        for agent in AGENTS {
            let invocation = agent.build_invocation(&request);
            assert_eq!(invocation.stdin.0, "SECRET PLAN");
            assert!(invocation.args.iter().all(|arg| !arg.contains("SECRET")), "{}", agent.name());
            assert!(invocation.env.iter().all(|(_, value)| !value.contains("SECRET")), "{}", agent.name());
            let Some(question) = agent.build_one_shot(&request) else { continue };
            assert_eq!(question.stdin.0, "SECRET PLAN");
            assert!(question.args.iter().all(|arg| !arg.contains("SECRET")), "{}", agent.name());
        }
    }

    #[test] // spec: V3
    fn a_one_shot_question_gets_no_permission_and_no_session() {
        let extra = ["--extra".to_owned()];
        let request = LaunchRequest {
            resume_session: Some("abc"),
            permission: Some(crate::PermissionLevel::Full),
            extra_args: &extra,
            ..LaunchRequest::default()
        };
        let supporting: Vec<_> = AGENTS.iter().filter(|agent| agent.build_one_shot(&request).is_some()).collect();
        assert_eq!(supporting.iter().map(|agent| agent.name()).collect::<Vec<_>>(), ["claude", "codex", "text"]);
        for agent in supporting {
            let args = agent.build_one_shot(&request).unwrap().args;
            assert!(!args.iter().any(|arg| arg == "abc" || arg.contains("dangerously")), "{args:?}");
            assert!(!args.contains(&"--extra".to_owned()), "{args:?}");
        }
    }

    #[test] // spec: A2, A6
    fn user_settings_take_precedence_for_every_agent() {
        let (args, extra) = (["--own".to_owned()], ["--extra".to_owned()]);
        let env = [("FOO".to_owned(), "bar".to_owned())];
        let request = LaunchRequest {
            program_override: Some("./mine"),
            args_override: Some(&args),
            extra_args: &extra,
            env: &env,
            ..LaunchRequest::default()
        };
        for agent in AGENTS {
            let invocation = agent.build_invocation(&request);
            assert_eq!(invocation.program, "./mine");
            assert_eq!(invocation.args, ["--own", "--extra"], "{}", agent.name());
            assert_eq!(invocation.env.last(), Some(&env[0]));
        }
    }

    #[test] // spec: A6
    fn no_agent_detects_that_it_runs_inside_another() {
        for agent in AGENTS {
            let invocation = agent.build_invocation(&LaunchRequest::default());
            for name in ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"] {
                assert!(invocation.env_remove.iter().any(|removed| removed == name), "{} {name}", agent.name());
            }
        }
    }
}
