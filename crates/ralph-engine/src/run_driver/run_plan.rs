//! The plan of a run: everything that is decided before it starts.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::claim::{ClaimRules, PromiseNonce};
use ralph_core::criterion::Criterion;
use ralph_core::event;
use ralph_core::policy::{ContextMode, ContradictionRule, Policy};
use ralph_core::prompt::{self, AgentNotes, CompletionInstructions, PromptInput, PromptPlan};
use ralph_core::prompt_variables::ExpandedPrompt;
use ralph_core::task::{Role, StagePrompt, TaskGenerationPrompt};
use serde::{Deserialize, Serialize};

use super::attempt_io::SessionRequest;
use super::judge_choice::JudgeChoice;
use super::prompt_template::{PromptTemplate, read_text_file};
use super::run_notes::NOTES_ENV_VAR;
use super::stored_path;
use super::usage_file;
use crate::lock::LockSharing;
use crate::project::Project;
use crate::verify::{AcceptancePolicy, CheckEnvironment, FileSealer, SealError};
use crate::worktree::AssignedWorktree;
use ralph_agents::{
    Agent, AgentPreset, AgentProgram, ConversationRequest, DefaultGrant, FilterError, JqFilter, LaunchBlocker,
    LaunchEnvironment, LaunchRequest, OutputFormat, PermissionLevel, PresetOverrides, SessionSupport,
};
use ralph_process::{JobSpec, StdinSource};
use ralph_util::memory_size::MemorySize;
use ralph_util::session_log_file::SessionLogFile;

/// A longer prompt is refused as a mistake.
const MAX_PROMPT_BYTES: u64 = 64 * 1024 * 1024;

/// The environment variable that tells a nested ralph which project the outer one works on.
pub const PROJECT_ENV_VAR: &str = "RALPH_PROJECT";

const RUN_KINDS: &[&str] = &["run", "demo", "plan", "build", "prompt", "task", STAGE_RUN_KIND, GENERATE_RUN_KIND];

/// The kind of a stage that a worker drives.
pub const STAGE_RUN_KIND: &str = "stage";

/// The kind of a run that creates tasks from a spec.
pub const GENERATE_RUN_KIND: &str = "generate";

/// Returns the kind of that name.
#[must_use]
pub fn find_run_kind(name: &str) -> Option<&'static str> {
    RUN_KINDS.iter().copied().find(|kind| *kind == name)
}

pub struct RunPlan {
    pub id: String,
    pub kind: &'static str,
    pub project: Project,
    pub agent: AgentChoice,
    /// The agents that take over while the ones before them are rate limited.
    pub fallback: Vec<AgentChoice>,
    pub prompt: PromptSource,
    /// The implementation plan that must exist before every iteration, if the run follows one.
    pub plan_file: Option<PathBuf>,
    /// The file to which the agent's output is copied.
    pub session_log: Option<SessionLogFile>,
    pub claim_rules: ClaimRules,
    pub criteria: Vec<Criterion>,
    /// How claims are accepted in addition to the criteria.
    pub acceptance: AcceptancePolicy,
    /// The judge, if a check needs one.
    pub judge: Option<JudgeChoice>,
    pub policy: Policy,
    pub stop_grace: Duration,
    pub visibility: OutputVisibility,
    /// The memory limit for an agent with its descendants. Checks are not limited.
    pub max_memory: Option<MemorySize>,
    /// The size limit for all raw logs together.
    pub log_limit: MemorySize,
    /// Whether other runs may use the same work tree at the same time.
    pub sharing: LockSharing,
    /// Fingerprints of the configuration when the run started, if it was read.
    pub config_fingerprints: Option<Vec<String>>,
    /// The task and role, if the run is a stage.
    pub stage: Option<TaskStage>,
    /// The work tree that ralph created for the run, if there is one. It is the project's root then.
    pub own_worktree: Option<AssignedWorktree>,
}

/// The task and the role of a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStage {
    pub task: String,
    pub role: Role,
    /// The fence of the worker's lease, if a worker drives the stage.
    #[serde(skip)]
    pub lease_fence: Option<i64>,
}

/// Whether the agent's output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputVisibility {
    Shown,
    Hidden,
}

/// An agent with the user's settings for it.
pub struct AgentChoice {
    /// The name in the configuration.
    pub name: String,
    pub adapter: &'static dyn Agent,
    pub overrides: PresetOverrides,
    pub model: Option<String>,
    /// The permission level, if the user has set one.
    pub permission: Option<PermissionLevel>,
    pub extra_args: Vec<String>,
    /// Environment variables, which override those of the adapter.
    pub env: Vec<(String, String)>,
}

/// How an agent process is started.
pub struct AgentJob {
    pub spec: JobSpec,
    /// The text for its stdin.
    pub stdin: String,
}

/// Where the prompt comes from. A file is read again in every iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSource {
    Text(String),
    File(#[serde(with = "stored_path")] PathBuf),
    /// A complete prompt: its variables are expanded, and nothing is added.
    Template(PromptTemplate),
    /// The stage of a task.
    Stage(Box<StagePrompt>),
    /// A spec from which tasks are created.
    Generate(Box<TaskGenerationPrompt>),
}

impl PromptSource {
    /// Returns the text for an iteration, and the variables without a value.
    pub fn read_prompt(&self, iteration: u32, max_iterations: u32) -> io::Result<ExpandedPrompt> {
        let plain_text = |text| ExpandedPrompt { text, unknown_variables: Vec::new() };
        match self {
            Self::Text(text) => Ok(plain_text(text.clone())),
            Self::File(path) => read_text_file(path).map(plain_text),
            Self::Template(template) => template.expand_variables(iteration, max_iterations),
            Self::Stage(stage) => Ok(plain_text(stage.render(iteration, max_iterations))),
            Self::Generate(prompt) => Ok(plain_text(prompt.render())),
        }
    }

    /// Returns the prompt file, if there is one.
    #[must_use]
    pub fn file_path(&self) -> Option<&Path> {
        match self {
            Self::Text(_) | Self::Stage(_) | Self::Generate(_) => None,
            Self::File(path) => Some(path),
            Self::Template(template) => Some(&template.path),
        }
    }

    fn completion_style(&self) -> CompletionInstructions {
        match self {
            Self::Text(_) | Self::File(_) | Self::Stage(_) | Self::Generate(_) => CompletionInstructions::Appended,
            Self::Template(_) => CompletionInstructions::InTask,
        }
    }
}

/// Returns the part of the log limit that is reserved for session logs.
#[must_use]
pub fn session_log_bytes(log_limit: MemorySize) -> u64 {
    log_limit.as_byte_count() / 2
}

/// Reads a prompt. Fails if it is empty or too long.
pub fn read_bounded_prompt(source: impl Read) -> io::Result<Vec<u8>> {
    let invalid_data = |reason| io::Error::new(io::ErrorKind::InvalidData, reason);
    let mut bytes = Vec::new();
    source.take(MAX_PROMPT_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        0 => Err(invalid_data("it is empty")),
        length if length > MAX_PROMPT_BYTES => Err(invalid_data("it is longer than 64 MB")),
        _ => Ok(bytes),
    }
}

impl AgentChoice {
    #[must_use]
    pub fn preset(&self) -> AgentPreset {
        self.adapter.preset().overridden_by(&self.overrides)
    }

    #[must_use]
    pub fn output_format(&self) -> OutputFormat {
        self.preset().output_format
    }

    /// Describes what the agent may do; `None` if the user's own arguments decide that, or if it is unknown.
    #[must_use]
    pub fn describe_permissions(&self) -> Option<String> {
        let grants = self.adapter.grants();
        let is_set_by_args = self.overrides.args.is_some() && self.permission.is_none();
        let is_known = match self.adapter.program() {
            AgentProgram::OnPath(_) => !is_set_by_args,
            // ralph answers permission requests in the conversation, whatever the arguments are.
            AgentProgram::UserProvided => matches!(grants.default_grant, DefaultGrant::Level(_)),
            AgentProgram::OwnBinary => false,
        };
        is_known.then(|| {
            let description = grants.describe_grant(self.permission);
            description.strip_prefix("may ").unwrap_or(description).to_owned()
        })
    }

    /// Returns a problem that is certain to prevent the start. Some agents would hang, or fail without a reason.
    #[must_use]
    pub fn preflight_problem(&self, is_root: bool) -> Option<LaunchBlocker> {
        let is_set = |name: &str| match self.env.iter().rfind(|(set, _)| set == name) {
            Some((_, value)) => !value.is_empty(),
            None => std::env::var_os(name).is_some_and(|value| !value.is_empty()),
        };
        let job = LaunchRequest {
            permission: self.permission,
            args_override: self.overrides.args.as_deref(),
            ..LaunchRequest::default()
        };
        self.adapter.launch_blocker(&job, &LaunchEnvironment { is_root, has_variable: &is_set })
    }

    /// Returns the session to start with: the one to resume, or a new id if the agent accepts one.
    #[must_use]
    pub fn session_request(&self, resume_id: Option<String>) -> SessionRequest {
        let session_mode = self.adapter.session_support();
        let is_new = resume_id.is_none() && session_mode == SessionSupport::CallerAssignedId;
        SessionRequest { session_mode, resume_id, new_id: is_new.then(|| uuid::Uuid::new_v4().to_string()) }
    }

    /// Returns the response filter, if the user has set one. Fails if it cannot be compiled.
    pub fn response_filter(&self) -> Result<Option<String>, FilterError> {
        validate_filter(self.preset().response_filter)
    }

    /// Returns the display filter, if the user has set one. Fails if it cannot be compiled.
    pub fn display_filter(&self) -> Result<Option<String>, FilterError> {
        validate_filter(self.preset().display_filter)
    }
}

/// Refuses a filter that cannot be compiled. The filter process compiles it again.
fn validate_filter(source: Option<String>) -> Result<Option<String>, FilterError> {
    source.map(|source| JqFilter::compile(&source).map(|_| source)).transpose()
}

/// The parts of a prompt that differ between attempts.
#[derive(Debug, Clone, Copy)]
pub struct PromptContext<'a> {
    pub iteration: u32,
    /// The notes that the agents of the run have written.
    pub notes: &'a str,
    /// Guidance that people have sent to the run.
    pub guidance: &'a [String],
}

impl RunPlan {
    /// Returns the policy of the loop. A contradiction only warns if a criterion can decide about the claim.
    pub(super) fn loop_policy(&self) -> Policy {
        Policy { contradictions: ContradictionRule::for_criteria(&self.criteria), ..self.policy.clone() }
    }

    /// Checks whether the implementation plan exists, without which no iteration starts.
    #[must_use]
    pub fn check_plan_file(&self) -> event::PlanAvailability {
        match &self.plan_file {
            Some(plan) if !plan.is_file() => event::PlanAvailability::Missing,
            Some(_) | None => event::PlanAvailability::Available,
        }
    }

    /// Renders the prompt of an iteration. The result also has the variables without a value.
    pub fn render_prompt(
        &self,
        plan: &PromptPlan,
        nonce: Option<&PromiseNonce>,
        PromptContext { iteration, notes, guidance }: PromptContext<'_>,
    ) -> io::Result<ExpandedPrompt> {
        let ExpandedPrompt { text: task, unknown_variables } =
            self.prompt.read_prompt(iteration, self.policy.max_iterations)?;
        let checks: Vec<String> = self.criteria.iter().map(Criterion::summary_line).collect();
        let completion = self.prompt.completion_style();
        let file = self.notes_display_path();
        let notes = match completion {
            CompletionInstructions::Appended => Some(AgentNotes { file: &file, text: notes }),
            CompletionInstructions::InTask => None,
        };
        let input = PromptInput {
            task: &task,
            promise: &self.claim_rules.promise,
            nonce,
            checks: &checks,
            iteration,
            max_iterations: self.policy.max_iterations,
            completion,
            notes,
            guidance,
        };
        Ok(ExpandedPrompt { text: prompt::render_prompt(plan, &input), unknown_variables })
    }

    /// Returns the path of the notes, relative to the project's root if possible.
    fn notes_display_path(&self) -> String {
        let path = self.project.notes_file(&self.id);
        path.strip_prefix(&self.project.root).unwrap_or(&path).display().to_string()
    }

    /// Returns the claim rules of an iteration.
    #[must_use]
    pub fn claim_rules_with_nonce(&self, nonce: Option<PromiseNonce>) -> ClaimRules {
        ClaimRules { nonce, ..self.claim_rules.clone() }
    }

    /// Returns the size limit of the raw logs. A session log repeats the output and takes half of the log limit.
    #[must_use]
    pub fn raw_log_bytes(&self) -> u64 {
        match &self.session_log {
            Some(_) => session_log_bytes(self.log_limit),
            None => self.log_limit.as_byte_count(),
        }
    }

    /// Returns all agents, the preferred one first.
    pub fn all_agents(&self) -> impl Iterator<Item = &AgentChoice> {
        std::iter::once(&self.agent).chain(&self.fallback)
    }

    /// Describes which agents start without context although the run asks to continue sessions.
    #[must_use]
    pub fn describe_agents_without_resume(&self) -> Option<String> {
        let unable = self.all_agents().filter(|agent| !agent.adapter.can_resume());
        let names: Vec<&str> = unable.map(|agent| agent.name.as_str()).collect();
        let is_affected = self.policy.context == ContextMode::Continue && !names.is_empty();
        is_affected.then(|| format!("fresh for every iteration: {} cannot resume a session", names.join(" and ")))
    }

    /// Returns the agent with that number: 0 is the preferred one.
    #[must_use]
    pub fn agent_at(&self, number: u32) -> &AgentChoice {
        self.all_agents().nth(number as usize).unwrap_or(&self.agent)
    }

    /// Returns how an agent is started with this prompt.
    pub fn build_agent_job(
        &self,
        choice: &AgentChoice,
        prompt: &str,
        session: &SessionRequest,
    ) -> io::Result<AgentJob> {
        let own_binary = match choice.adapter.program() {
            AgentProgram::OwnBinary => Some(std::env::current_exe()?.to_string_lossy().into_owned()),
            AgentProgram::OnPath(_) | AgentProgram::UserProvided => None,
        };
        let usage_file = self.usage_file_path(choice);
        let job = LaunchRequest {
            prompt,
            model: choice.model.as_deref(),
            resume_session: session.resume_id.as_deref(),
            new_session_id: session.new_id.as_deref(),
            extra_args: &choice.extra_args,
            permission: choice.permission,
            program_override: choice.overrides.cli.as_deref().or(own_binary.as_deref()),
            args_override: choice.overrides.args.as_deref(),
            usage_file: usage_file.as_deref().and_then(Path::to_str),
            env: &choice.env,
        };
        let invocation = choice.adapter.build_invocation(&job);
        let spec = JobSpec {
            program: self.resolve_program(&invocation.program),
            args: invocation.args.into_iter().map(OsString::from).collect(),
            env: self.child_environment(&invocation.env_remove, invocation.env),
            cwd: self.project.root.clone(),
            run_id: self.id.clone(),
            stdin: StdinSource::Pipe,
            linger: JobSpec::DEFAULT_LINGER,
            memory_limit: self.max_memory.map(MemorySize::as_byte_count),
        };
        Ok(AgentJob { spec, stdin: invocation.stdin.0 })
    }

    /// Returns the file to which an agent writes its usage, if it does so.
    #[must_use]
    pub(super) fn usage_file_path(&self, choice: &AgentChoice) -> Option<PathBuf> {
        let folder = self.project.run_folder(&self.id);
        choice.adapter.writes_usage_file().then(|| usage_file::path_in_run_folder(&folder))
    }

    /// Returns the request with which a conversation with an agent starts.
    #[must_use]
    pub fn build_conversation(
        &self,
        choice: &AgentChoice,
        prompt: &str,
        session: Option<String>,
    ) -> ConversationRequest {
        ConversationRequest {
            prompt: prompt.to_owned(),
            folder: self.project.root.to_string_lossy().into_owned(),
            session,
            model: choice.model.clone(),
            permission: choice.adapter.grants().effective_level(choice.permission),
        }
    }

    /// Returns the environment in which checks run.
    #[must_use]
    pub fn check_environment(&self) -> CheckEnvironment {
        CheckEnvironment {
            root: self.project.root.clone(),
            env: self.child_environment(&[], Vec::new()),
            run_id: self.id.clone(),
        }
    }

    /// Returns the sealer of the files that must not change before a claim.
    pub fn build_sealer(&self) -> Result<FileSealer, SealError> {
        FileSealer::new(&self.project, &self.acceptance, &self.criteria, &self.check_environment())
    }

    /// Returns the environment of this process without `remove` and with `set`. Each name occurs once, because programs
    /// differ in which of two values they use.
    fn child_environment(&self, remove: &[String], set: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
        let inherited = std::env::vars_os().filter(|(name, _)| !remove.iter().any(|removed| name == removed.as_str()));
        let mut env: BTreeMap<OsString, OsString> = inherited.collect();
        env.extend(set.into_iter().map(|(name, value)| (name.into(), value.into())));
        env.insert(PROJECT_ENV_VAR.into(), self.project.root.clone().into());
        env.insert(NOTES_ENV_VAR.into(), self.project.notes_file(&self.id).into());
        env.into_iter().collect()
    }

    /// Resolves a program path with a slash relative to the current directory, not to the project's root.
    fn resolve_program(&self, program: &str) -> PathBuf {
        let path = Path::new(program);
        if program.contains('/') && path.is_relative() {
            std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
        } else {
            path.to_path_buf()
        }
    }
}
