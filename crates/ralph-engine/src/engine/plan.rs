//! Everything that one run needs, settled before it starts.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::claim::{ClaimRules, Nonce};
use ralph_core::criterion::Criterion;
use ralph_core::event;
use ralph_core::policy::{Context, Policy};
use ralph_core::prompt::{self, Completion, Notes, Parts, PromptPlan};
use ralph_core::task::{GeneratePrompt, Role, StagePrompt};
use ralph_core::template::Expanded;
use serde::{Deserialize, Serialize};

use super::ears::SessionAsked;
use super::judge::JudgeChoice;
use super::notes::NOTES_VARIABLE;
use super::stored_path;
use super::template::{Template, read_text};
use super::usage_file;
use crate::lock::Sharing;
use crate::project::Project;
use crate::tree::Workplace;
use crate::verify::{Acceptance, Ground, SealError, Sealer};
use ralph_agents::{
    Agent, Filter, FilterError, Format, Job, Obstacle, Overrides, Permission, Preset, Program, Sessions,
    Surroundings, Talk, Usual,
};
use ralph_process::{JobSpec, Stdin};
use ralph_util::memory_size::MemorySize;
use ralph_util::session_file::SessionFile;

/// Longer prompts are mistakes.
const LONGEST_PROMPT: u64 = 64 * 1024 * 1024;

/// Tells a ralph inside an agent which project the outer one works on.
pub const PROJECT_VARIABLE: &str = "RALPH_PROJECT";

/// The kinds of runs.
const KINDS: &[&str] = &["run", "demo", "plan", "build", "prompt", "task", KIND_STAGE, KIND_GENERATE];

/// A stage of a task that a worker drives.
pub const KIND_STAGE: &str = "stage";

/// A run that makes tasks of a spec.
pub const KIND_GENERATE: &str = "generate";

/// Returns the kind of that name.
#[must_use]
pub fn kind_named(name: &str) -> Option<&'static str> {
    KINDS.iter().copied().find(|kind| *kind == name)
}

pub struct RunPlan {
    pub id: String,
    pub kind: &'static str,
    pub project: Project,
    pub agent: AgentChoice,
    /// The agents that take over while those before them are rate limited.
    pub fallback: Vec<AgentChoice>,
    pub prompt: PromptSource,
    /// The implementation plan without which no iteration begins, where the run follows one.
    pub follows: Option<PathBuf>,
    /// Where all that the agent prints is copied to.
    pub session: Option<SessionFile>,
    pub rules: ClaimRules,
    pub checks: Vec<Criterion>,
    /// How claims are accepted beside that.
    pub acceptance: Acceptance,
    /// Who judges, where a check asks for a judge.
    pub judge: Option<JudgeChoice>,
    pub policy: Policy,
    pub grace: Duration,
    pub audience: Audience,
    /// What an agent may have together with its descendants. Checks are not limited.
    pub max_memory: Option<MemorySize>,
    /// What the raw logs may take together.
    pub log_limit: MemorySize,
    /// Whether other runs may work in the same tree meanwhile.
    pub sharing: Sharing,
    /// What the configuration said when the run began, as fingerprints, where it was asked.
    pub configured: Option<Vec<String>>,
    /// What it is a stage of, where it is one.
    pub stage: Option<StageOf>,
    /// The tree of ralph's own that it works in, where that is the project's root.
    pub tree: Option<Workplace>,
}

/// The task and the role of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageOf {
    pub task: String,
    pub role: Role,
    /// The number under which a worker has the task, where one has it.
    #[serde(skip)]
    pub lease: Option<i64>,
}

/// Whether anybody looks at what the agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    People,
    Nobody,
}

/// The agent and what the user changed about it.
pub struct AgentChoice {
    /// What the user calls it.
    pub name: String,
    pub adapter: &'static dyn Agent,
    pub overrides: Overrides,
    pub model: Option<String>,
    /// What it may do unasked, where the user said so.
    pub permission: Option<Permission>,
    pub extra_args: Vec<String>,
    /// Variables for it, over those of the adapter.
    pub env: Vec<(String, String)>,
}

/// Where the user's words come from. A file is read again for every iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSource {
    Text(String),
    File(#[serde(with = "stored_path")] PathBuf),
    /// A prompt by itself: its variables are filled in, and nothing is added.
    Template(Template),
    /// The stage of a task.
    Stage(Box<StagePrompt>),
    /// A spec of which tasks are to be made.
    Generate(Box<GeneratePrompt>),
}

impl PromptSource {
    /// Returns the words for an iteration, and the variables that had no value.
    pub fn read(&self, iteration: u32, max_iterations: u32) -> io::Result<Expanded> {
        let words = |text| Expanded { text, unknown: Vec::new() };
        match self {
            Self::Text(text) => Ok(words(text.clone())),
            Self::File(path) => read_text(path).map(words),
            Self::Template(template) => template.fill(iteration, max_iterations),
            Self::Stage(stage) => Ok(words(stage.render(iteration, max_iterations))),
            Self::Generate(prompt) => Ok(words(prompt.render())),
        }
    }

    /// Returns the file that the words come from, if they come from one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Text(_) | Self::Stage(_) | Self::Generate(_) => None,
            Self::File(path) => Some(path),
            Self::Template(template) => Some(&template.path),
        }
    }

    fn completion(&self) -> Completion {
        match self {
            Self::Text(_) | Self::File(_) | Self::Stage(_) | Self::Generate(_) => Completion::Added,
            Self::Template(_) => Completion::Own,
        }
    }
}

/// Returns how many bytes of what a run's logs may take are for its session logs.
#[must_use]
pub fn session_room(log_limit: MemorySize) -> u64 {
    log_limit.bytes() / 2
}

/// Reads a prompt from wherever it comes: text that is not endless and not empty.
pub fn read_bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let refused = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut bytes = Vec::new();
    from.take(LONGEST_PROMPT + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        0 => Err(refused("it is empty")),
        length if length > LONGEST_PROMPT => Err(refused("it is longer than 64 MB")),
        _ => Ok(bytes),
    }
}

impl AgentChoice {
    #[must_use]
    pub fn preset(&self) -> Preset {
        self.adapter.preset().overridden_by(&self.overrides)
    }

    #[must_use]
    pub fn format(&self) -> Format {
        self.preset().output_format
    }

    /// Says what the agent may do; nothing where the user's own arguments say it, or where ralph cannot know.
    #[must_use]
    pub fn means(&self) -> Option<String> {
        let grants = self.adapter.grants();
        let is_own = self.overrides.args.is_some() && self.permission.is_none();
        let is_known = match self.adapter.program() {
            Program::Named(_) => !is_own,
            // What is asked for is answered in a talk, whatever the arguments are.
            Program::Required => matches!(grants.usual, Usual::Given(_)),
            Program::OwnBinary => false,
        };
        is_known.then(|| {
            let words = grants.means(self.permission);
            words.strip_prefix("may ").unwrap_or(words).to_owned()
        })
    }

    /// Returns what is surely in the way of a start: some agents would hang, or fail without saying why.
    #[must_use]
    pub fn obstacle(&self, is_root: bool) -> Option<Obstacle> {
        let is_set = |name: &str| match self.env.iter().rfind(|(set, _)| set == name) {
            Some((_, value)) => !value.is_empty(),
            None => std::env::var_os(name).is_some_and(|value| !value.is_empty()),
        };
        let job = Job { permission: self.permission, args: self.overrides.args.as_deref(), ..Job::default() };
        self.adapter.obstacle(&job, &Surroundings { is_root, is_set: &is_set })
    }

    /// Returns what it is told about its session: the one to resume, or else an id that was never used, where it takes
    /// one.
    #[must_use]
    pub fn asked(&self, resumed: Option<String>) -> SessionAsked {
        let sessions = self.adapter.sessions();
        let is_new = resumed.is_none() && sessions == Sessions::Chosen;
        SessionAsked { sessions, resumed, chosen: is_new.then(|| uuid::Uuid::new_v4().to_string()) }
    }

    /// Returns the response filter, if the user set one and it is a filter.
    pub fn response_filter(&self) -> Result<Option<String>, FilterError> {
        compiled(self.preset().response_filter)
    }

    /// Returns the display filter, if the user set one and it is a filter.
    pub fn display_filter(&self) -> Result<Option<String>, FilterError> {
        compiled(self.preset().display_filter)
    }
}

/// Refuses a filter that cannot be compiled. The filter itself is compiled again where it runs.
fn compiled(source: Option<String>) -> Result<Option<String>, FilterError> {
    source.map(|source| Filter::compile(&source).map(|_| source)).transpose()
}

/// What one attempt is told beside what all are told.
#[derive(Debug, Clone, Copy)]
pub struct ForNow<'a> {
    pub iteration: u32,
    /// What the agents of the run wrote down.
    pub notes: &'a str,
    /// What people said meanwhile.
    pub guidance: &'a [String],
}

impl RunPlan {
    /// Looks whether another iteration may begin.
    #[must_use]
    pub fn ground(&self) -> event::Ground {
        match &self.follows {
            Some(plan) if !plan.is_file() => event::Ground::NoPlan,
            Some(_) | None => event::Ground::Firm,
        }
    }

    /// Renders the prompt of an iteration, and returns the variables in it that had no value.
    pub fn prompt_text(
        &self,
        plan: &PromptPlan,
        nonce: Option<&Nonce>,
        ForNow { iteration, notes, guidance }: ForNow<'_>,
    ) -> io::Result<Expanded> {
        let Expanded { text: task, unknown } = self.prompt.read(iteration, self.policy.max_iterations)?;
        let checks: Vec<String> = self.checks.iter().map(Criterion::shown).collect();
        let completion = self.prompt.completion();
        let file = self.notes_name();
        let notes = match completion {
            Completion::Added => Some(Notes { file: &file, text: notes }),
            Completion::Own => None,
        };
        let parts = Parts {
            task: &task,
            promise: &self.rules.promise,
            nonce,
            checks: &checks,
            iteration,
            max_iterations: self.policy.max_iterations,
            completion,
            notes,
            guidance,
        };
        Ok(Expanded { text: prompt::render(plan, &parts), unknown })
    }

    /// Returns the notes as an agent in the project's root can open them.
    fn notes_name(&self) -> String {
        let path = self.project.notes(&self.id);
        path.strip_prefix(&self.project.root).unwrap_or(&path).display().to_string()
    }

    /// Returns the claim rules of an iteration.
    #[must_use]
    pub fn rules_with(&self, nonce: Option<Nonce>) -> ClaimRules {
        ClaimRules { nonce, ..self.rules.clone() }
    }

    /// Returns how many bytes the raw logs may take. A session log has the same words again, and half of the room.
    #[must_use]
    pub fn room_for_logs(&self) -> u64 {
        match &self.session {
            Some(_) => session_room(self.log_limit),
            None => self.log_limit.bytes(),
        }
    }

    /// Returns all agents, the preferred one first.
    pub fn agents(&self) -> impl Iterator<Item = &AgentChoice> {
        std::iter::once(&self.agent).chain(&self.fallback)
    }

    /// Says which agents start afresh although sessions shall go on.
    #[must_use]
    pub fn forgetful(&self) -> Option<String> {
        let unable = self.agents().filter(|agent| !agent.adapter.can_resume());
        let names: Vec<&str> = unable.map(|agent| agent.name.as_str()).collect();
        let is_asked = self.policy.context == Context::Continue && !names.is_empty();
        is_asked
            .then(|| format!("fresh for every iteration: {} cannot resume a session", names.join(" and ")))
    }

    /// Returns the agent of that number: 0 is the preferred one.
    #[must_use]
    pub fn agent_at(&self, number: u32) -> &AgentChoice {
        self.agents().nth(number as usize).unwrap_or(&self.agent)
    }

    /// Returns how an agent is started with this prompt, and what goes to its standard input.
    pub fn agent_job(
        &self,
        choice: &AgentChoice,
        prompt: &str,
        session: &SessionAsked,
    ) -> io::Result<(JobSpec, String)> {
        let own = match choice.adapter.program() {
            Program::OwnBinary => Some(std::env::current_exe()?.to_string_lossy().into_owned()),
            Program::Named(_) | Program::Required => None,
        };
        let usage_file = self.usage_file(choice);
        let job = Job {
            prompt,
            model: choice.model.as_deref(),
            session: session.resumed.as_deref(),
            new_session: session.chosen.as_deref(),
            extra_args: &choice.extra_args,
            permission: choice.permission,
            program: choice.overrides.cli.as_deref().or(own.as_deref()),
            args: choice.overrides.args.as_deref(),
            usage_file: usage_file.as_deref().and_then(Path::to_str),
            env: &choice.env,
        };
        let start = choice.adapter.invocation(&job);
        let env = self.child_environment(&start.env_remove, start.env);
        let spec = JobSpec {
            program: self.program_path(&start.program),
            args: start.args.into_iter().map(OsString::from).collect(),
            env,
            cwd: self.project.root.clone(),
            run_id: self.id.clone(),
            stdin: Stdin::Pipe,
            linger: JobSpec::LINGER,
            memory: self.max_memory.map(MemorySize::bytes),
        };
        Ok((spec, start.stdin.0))
    }

    /// Returns where an agent leaves what it has used, if it does so.
    #[must_use]
    pub(super) fn usage_file(&self, choice: &AgentChoice) -> Option<PathBuf> {
        let folder = self.project.run_folder(&self.id);
        choice.adapter.writes_usage().then(|| usage_file::of_run(&folder))
    }

    /// Returns what an agent that is talked to is told.
    #[must_use]
    pub fn talk(&self, choice: &AgentChoice, prompt: &str, session: Option<String>) -> Talk {
        Talk {
            prompt: prompt.to_owned(),
            folder: self.project.root.to_string_lossy().into_owned(),
            session,
            model: choice.model.clone(),
            permission: choice.adapter.grants().given(choice.permission),
        }
    }

    /// Returns where checks run.
    #[must_use]
    pub fn checking_ground(&self) -> Ground {
        Ground {
            root: self.project.root.clone(),
            env: self.child_environment(&[], Vec::new()),
            run_id: self.id.clone(),
        }
    }

    /// Returns what knows which files must not change before a claim.
    pub fn sealer(&self) -> Result<Sealer, SealError> {
        Sealer::new(&self.project, &self.acceptance, &self.checks, &self.checking_ground())
    }

    /// Returns our own environment without what makes nested agents misbehave, and with what is set. Each name
    /// stands there once: of two, programs would take either.
    fn child_environment(&self, remove: &[String], set: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
        let ours =
            std::env::vars_os().filter(|(name, _)| !remove.iter().any(|removed| name == removed.as_str()));
        let mut env: BTreeMap<OsString, OsString> = ours.collect();
        env.extend(set.into_iter().map(|(name, value)| (name.into(), value.into())));
        env.insert(PROJECT_VARIABLE.into(), self.project.root.clone().into());
        env.insert(NOTES_VARIABLE.into(), self.project.notes(&self.id).into());
        env.into_iter().collect()
    }

    /// A program written with a slash is meant from where the user stands, not from the project's root.
    fn program_path(&self, program: &str) -> PathBuf {
        let path = Path::new(program);
        if program.contains('/') && path.is_relative() {
            std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
        } else {
            path.to_path_buf()
        }
    }
}
