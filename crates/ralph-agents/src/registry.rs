//! The agents we know. A new one is a file beside this one and a line in [`AGENTS`].
use super::acp::AcpAgent;
use super::amp::AmpAgent;
use super::claude::ClaudeAgent;
use super::cline::ClineAgent;
use super::codex::CodexAgent;
use super::copilot::CopilotAgent;
use super::demo::DemoAgent;
use super::event::{AgentErrorKind, AgentEvent};
use super::gemini::GeminiAgent;
use super::goose::GooseAgent;
use super::infer_failure::AgentExit;
use super::launch::{AgentInvocation, LaunchRequest};
use super::opencode::OpencodeAgent;
use super::output_format::OutputFormat;
use super::parser::{StreamParser, parser_for_format};
use super::permission::PermissionGrants;
use super::preflight::{LaunchBlocker, LaunchEnvironment};
use super::preset::AgentPreset;
use super::profile::{AgentAdvisory, AgentProfile, DiagnosticContext};
use super::qwen::QwenAgent;
use super::spec::AgentSpec;
use super::text::TextAgent;
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
    &AcpAgent,
    &TextAgent,
    &DemoAgent,
];

/// Everything that is particular to one coding agent.
pub trait Agent: Sync {
    /// Returns what is fixed about it.
    fn spec(&self) -> &'static AgentSpec;

    /// Returns how to start it for this job.
    fn build_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation;

    /// Begins an invocation: the program, its arguments, and what gives it its permission.
    fn base_invocation(&self, request: &LaunchRequest<'_>) -> AgentInvocation {
        let card = self.spec();
        request.base_invocation(card.program, card.default_args).with_permission(request, &card.grants)
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

    /// Returns the settings that the user may override.
    fn preset(&self) -> AgentPreset {
        self.spec().to_preset()
    }

    /// Returns how to ask it one question without any tools, in a conversation that is forgotten; `None` where it
    /// cannot be asked so. Permission, session and extra arguments of the job mean nothing here.
    fn build_one_shot(&self, _request: &LaunchRequest<'_>) -> Option<AgentInvocation> {
        None
    }

    /// Returns a model that costs little, where one is known by a lasting name.
    fn cheap_model(&self) -> Option<&'static str> {
        None
    }

    /// Returns what people should know about it on this machine.
    fn advisories(&self, context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        self.profile().outdated_version_advisory(context).into_iter().chain(self.known_quirks(context)).collect()
    }

    /// Returns what is odd about it, beside its age.
    fn known_quirks(&self, _context: &DiagnosticContext<'_>) -> Vec<AgentAdvisory> {
        Vec::new()
    }

    /// Tells whether [`Job::session`] means something to it.
    fn can_resume(&self) -> bool {
        match self.session_support() {
            SessionSupport::Unsupported => false,
            SessionSupport::AgentAssignedId | SessionSupport::CallerAssignedId => true,
        }
    }

    /// Returns what an exit code means, where the agent gives it a meaning of its own.
    fn exit_meaning(&self, _code: i32) -> Option<(AgentErrorKind, &'static str)> {
        None
    }

    /// Returns what to do about a start that was refused for want of a login.
    fn login_remedy(&self, _exit: AgentExit) -> &'static str {
        self.profile().login_hint
    }

    /// Returns what a line of stderr tells of a request that the agent will repeat, where it tells that nowhere else.
    fn parse_stderr_notice(&self, _line: &str) -> Option<AgentEvent> {
        None
    }

    /// Returns what would make this start fail or hang for sure.
    fn launch_blocker(
        &self,
        _request: &LaunchRequest<'_>,
        _environment: &LaunchEnvironment<'_>,
    ) -> Option<LaunchBlocker> {
        None
    }

    /// Tells whether it writes what it has used into [`Job::usage_file`] when it ends.
    fn writes_usage_file(&self) -> bool {
        false
    }

    fn new_parser(&self) -> Box<dyn StreamParser> {
        parser_for_format(self.output_format())
    }

    /// Returns the signal on which it stops its own children too.
    fn graceful_signal(&self) -> GracefulSignal {
        GracefulSignal::Term
    }
}

/// The program behind an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentProgram {
    /// Found on PATH under this name.
    OnPath(&'static str),
    /// This very binary: whoever starts it knows its path and gives it in [`Job::program`].
    OwnBinary,
    /// The user must name one, in [`Job::program`].
    UserProvided,
}

impl AgentProgram {
    /// Returns the name to look for on PATH; empty where there is none to look for.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnPath(name) => name,
            Self::OwnBinary => "ralph",
            Self::UserProvided => "",
        }
    }
}

/// Where the id of a session comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionSupport {
    /// Every start is a new conversation.
    Unsupported,
    /// The agent names its session in its output, and that name resumes it.
    AgentAssignedId,
    /// The agent takes the id of a new session from us ([`Job::new_session`]); it may not name it itself, or only
    /// at the end, so whoever chose the id must remember it.
    CallerAssignedId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GracefulSignal {
    Term,
    Int,
}

/// An agent name that means nothing here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no agent named {name:?}")]
pub struct UnknownAgent {
    name: String,
}

impl UnknownAgent {
    /// Says what to write instead.
    pub fn hint(&self) -> String {
        let names: Vec<_> = AGENTS.iter().map(|agent| agent.name()).collect();
        suggest::suggestion_hint(&self.name, &names)
    }
}

/// Returns the agent of that name.
pub fn find_agent(name: &str) -> Result<&'static dyn Agent, UnknownAgent> {
    let found = AGENTS.iter().copied().find(|agent| agent.name() == name);
    found.ok_or_else(|| UnknownAgent { name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1
    fn every_agent_is_found_by_its_own_name_and_no_two_share_one() {
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
        let names = "claude, codex, opencode, gemini, qwen, copilot, cline, goose, amp, acp, text, demo";
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
            let start = agent.build_invocation(&request);
            assert_eq!(start.stdin.0, "SECRET PLAN");
            assert!(start.args.iter().all(|arg| !arg.contains("SECRET")), "{}", agent.name());
            assert!(start.env.iter().all(|(_, value)| !value.contains("SECRET")), "{}", agent.name());
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
        let able: Vec<_> = AGENTS.iter().filter(|agent| agent.build_one_shot(&request).is_some()).collect();
        assert_eq!(able.iter().map(|agent| agent.name()).collect::<Vec<_>>(), ["claude", "codex", "text"]);
        for agent in able {
            let args = agent.build_one_shot(&request).unwrap().args;
            assert!(!args.iter().any(|arg| arg == "abc" || arg.contains("dangerously")), "{args:?}");
            assert!(!args.contains(&"--extra".to_owned()), "{args:?}");
        }
    }

    #[test] // spec: A2, A6
    fn what_the_user_sets_wins_for_every_agent() {
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
            let start = agent.build_invocation(&request);
            assert_eq!(start.program, "./mine");
            assert_eq!(start.args, ["--own", "--extra"], "{}", agent.name());
            assert_eq!(start.env.last(), Some(&env[0]));
        }
    }

    #[test] // spec: A6
    fn no_agent_detects_that_it_runs_inside_another() {
        for agent in AGENTS {
            let start = agent.build_invocation(&LaunchRequest::default());
            for name in ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"] {
                assert!(start.env_remove.iter().any(|removed| removed == name), "{} {name}", agent.name());
            }
        }
    }
}
