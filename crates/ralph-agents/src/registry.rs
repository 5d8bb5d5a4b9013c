//! The agents we know. A new one is a file beside this one and a line in [`AGENTS`].
use super::about::{About, Machine, Trap};
use super::acp::Acp;
use super::amp::Amp;
use super::card::Card;
use super::claude::Claude;
use super::cline::Cline;
use super::codex::Codex;
use super::copilot::Copilot;
use super::demo::Demo;
use super::event::{AgentEvent, ErrorKind};
use super::format::Format;
use super::gemini::Gemini;
use super::goose::Goose;
use super::grant::Grants;
use super::job::{Invocation, Job};
use super::obstacle::{Obstacle, Surroundings};
use super::opencode::Opencode;
use super::parser::{Parser, parser};
use super::preset::Preset;
use super::qwen::Qwen;
use super::text::Text;
use super::untold::Exit;
use ralph_util::suggest;

pub const AGENTS: &[&dyn Agent] =
    &[&Claude, &Codex, &Opencode, &Gemini, &Qwen, &Copilot, &Cline, &Goose, &Amp, &Acp, &Text, &Demo];

/// Everything that is particular to one coding agent.
pub trait Agent: Sync {
    /// Returns what is fixed about it.
    fn card(&self) -> &'static Card;

    /// Returns how to start it for this job.
    fn invocation(&self, job: &Job<'_>) -> Invocation;

    /// Begins an invocation: the program, its arguments, and what gives it its permission.
    fn start(&self, job: &Job<'_>) -> Invocation {
        let card = self.card();
        job.start(card.program, card.args).granted(job, &card.grants)
    }

    fn name(&self) -> &'static str {
        self.card().name
    }

    fn program(&self) -> Program {
        self.card().program
    }

    fn grants(&self) -> Grants {
        self.card().grants
    }

    fn sessions(&self) -> Sessions {
        self.card().sessions
    }

    fn about(&self) -> About {
        self.card().about
    }

    fn format(&self) -> Format {
        self.card().format
    }

    /// Returns the settings that the user may override.
    fn preset(&self) -> Preset {
        self.card().preset()
    }

    /// Returns how to ask it one question without any tools, in a conversation that is forgotten; `None` where it
    /// cannot be asked so. Permission, session and extra arguments of the job mean nothing here.
    fn one_shot(&self, _job: &Job<'_>) -> Option<Invocation> {
        None
    }

    /// Returns a model that costs little, where one is known by a lasting name.
    fn cheap_model(&self) -> Option<&'static str> {
        None
    }

    /// Returns what people should know about it on this machine.
    fn traps(&self, machine: &Machine<'_>) -> Vec<Trap> {
        self.about().older(machine).into_iter().chain(self.oddities(machine)).collect()
    }

    /// Returns what is odd about it, beside its age.
    fn oddities(&self, _machine: &Machine<'_>) -> Vec<Trap> {
        Vec::new()
    }

    /// Tells whether [`Job::session`] means something to it.
    fn can_resume(&self) -> bool {
        match self.sessions() {
            Sessions::Fresh => false,
            Sessions::Named | Sessions::Chosen => true,
        }
    }

    /// Returns what an exit code means, where the agent gives it a meaning of its own.
    fn exit_meaning(&self, _code: i32) -> Option<(ErrorKind, &'static str)> {
        None
    }

    /// Returns what to do about a start that was refused for want of a login.
    fn remedy(&self, _exit: Exit) -> &'static str {
        self.about().login_hint
    }

    /// Returns what a line of stderr tells of a request that the agent will repeat, where it tells that nowhere else.
    fn aside(&self, _line: &str) -> Option<AgentEvent> {
        None
    }

    /// Returns what would make this start fail or hang for sure.
    fn obstacle(&self, _job: &Job<'_>, _around: &Surroundings<'_>) -> Option<Obstacle> {
        None
    }

    /// Tells whether it writes what it has used into [`Job::usage_file`] when it ends.
    fn writes_usage(&self) -> bool {
        false
    }

    fn parser(&self) -> Box<dyn Parser> {
        parser(self.format())
    }

    /// Returns the signal on which it stops its own children too.
    fn polite_signal(&self) -> PoliteSignal {
        PoliteSignal::Term
    }
}

/// The program behind an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// Found on PATH under this name.
    Named(&'static str),
    /// This very binary: whoever starts it knows its path and gives it in [`Job::program`].
    OwnBinary,
    /// The user must name one, in [`Job::program`].
    Required,
}

impl Program {
    /// Returns the name to look for on PATH; empty where there is none to look for.
    pub fn name(self) -> &'static str {
        match self {
            Self::Named(name) => name,
            Self::OwnBinary => "ralph",
            Self::Required => "",
        }
    }
}

/// Where the id of a session comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// Every start is a new conversation.
    Fresh,
    /// The agent names its session in its output, and that name resumes it.
    Named,
    /// The agent takes the id of a new session from us ([`Job::new_session`]); it may not name it itself, or only
    /// at the end, so whoever chose the id must remember it.
    Chosen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoliteSignal {
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
        suggest::hint(&self.name, &names)
    }
}

/// Returns the agent of that name.
pub fn find(name: &str) -> Result<&'static dyn Agent, UnknownAgent> {
    let found = AGENTS.iter().copied().find(|agent| agent.name() == name);
    found.ok_or_else(|| UnknownAgent { name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1
    fn every_agent_is_found_by_its_own_name_and_no_two_share_one() {
        for (at, agent) in AGENTS.iter().enumerate() {
            assert_eq!(find(agent.name()).unwrap().name(), agent.name());
            assert!(AGENTS.iter().skip(at + 1).all(|other| other.name() != agent.name()));
        }
    }

    #[test] // spec: A1
    fn a_mistyped_agent_is_refused_with_a_suggestion() {
        let error = find("cluade").err().unwrap();
        assert_eq!(error.to_string(), "there is no agent named \"cluade\"");
        assert_eq!(error.hint(), "did you mean claude?");
        let names = "claude, codex, opencode, gemini, qwen, copilot, cline, goose, amp, acp, text, demo";
        assert_eq!(find("aider").err().unwrap().hint(), format!("choose one of {names}"));
    }

    #[test] // spec: A3
    fn the_prompt_never_stands_on_the_command_line() {
        let job = Job { prompt: "SECRET PLAN", model: Some("m"), session: Some("s"), ..Job::default() };
        for agent in AGENTS {
            let start = agent.invocation(&job);
            assert_eq!(start.stdin.0, "SECRET PLAN");
            assert!(start.args.iter().all(|arg| !arg.contains("SECRET")), "{}", agent.name());
            assert!(start.env.iter().all(|(_, value)| !value.contains("SECRET")), "{}", agent.name());
            let Some(question) = agent.one_shot(&job) else { continue };
            assert_eq!(question.stdin.0, "SECRET PLAN");
            assert!(question.args.iter().all(|arg| !arg.contains("SECRET")), "{}", agent.name());
        }
    }

    #[test] // spec: V3
    fn who_can_be_asked_without_tools_gets_no_permission_and_no_session() {
        let extra = ["--extra".to_owned()];
        let job = Job {
            session: Some("abc"),
            permission: Some(crate::Permission::Full),
            extra_args: &extra,
            ..Job::default()
        };
        let able: Vec<_> = AGENTS.iter().filter(|agent| agent.one_shot(&job).is_some()).collect();
        assert_eq!(able.iter().map(|agent| agent.name()).collect::<Vec<_>>(), ["claude", "codex", "text"]);
        for agent in able {
            let args = agent.one_shot(&job).unwrap().args;
            assert!(!args.iter().any(|arg| arg == "abc" || arg.contains("dangerously")), "{args:?}");
            assert!(!args.contains(&"--extra".to_owned()), "{args:?}");
        }
    }

    #[test] // spec: A2, A6
    fn what_the_user_sets_wins_for_every_agent() {
        let (args, extra) = (["--own".to_owned()], ["--extra".to_owned()]);
        let env = [("FOO".to_owned(), "bar".to_owned())];
        let job = Job {
            program: Some("./mine"),
            args: Some(&args),
            extra_args: &extra,
            env: &env,
            ..Job::default()
        };
        for agent in AGENTS {
            let start = agent.invocation(&job);
            assert_eq!(start.program, "./mine");
            assert_eq!(start.args, ["--own", "--extra"], "{}", agent.name());
            assert_eq!(start.env.last(), Some(&env[0]));
        }
    }

    #[test] // spec: A6
    fn no_agent_sees_that_it_runs_inside_another() {
        for agent in AGENTS {
            let start = agent.invocation(&Job::default());
            for name in ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"] {
                assert!(start.env_remove.iter().any(|removed| removed == name), "{} {name}", agent.name());
            }
        }
    }
}
