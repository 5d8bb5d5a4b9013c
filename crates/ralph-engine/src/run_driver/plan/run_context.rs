//! The live half of a run: everything that a process needs to drive it and that is not stored with its settings.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use super::agent_choice::AgentChoice;
use super::judge_choice::JudgeChoice;
use super::run_notes::NOTES_ENV_VAR;
use super::run_spec::{RunSpec, RunSpecError};
use super::stored_agent::StoredAgent;
use crate::project::Project;
use crate::run_driver::attempt::usage_file;
use crate::verify::{CheckEnvironment, TaskSeal};
use crate::worktree::AssignedWorktree;
use ralph_agents::ConversationRequest;
use ralph_util::session_log_file::SessionLogFile;

/// The environment variable that tells a nested ralph which project the outer one works on.
pub const PROJECT_ENV_VAR: &str = "RALPH_PROJECT";

const RUN_KINDS: &[&str] =
    &["run", "demo", "plan", "build", "prompt", "task", STAGE_RUN_KIND, GENERATE_RUN_KIND, NODE_RUN_KIND];

/// The kind of a stage that a worker drives.
pub const STAGE_RUN_KIND: &str = "stage";

/// The kind of a run that is one pass of an agent in a workflow.
pub const NODE_RUN_KIND: &str = "node";
/// The kind of a run that creates tasks from a spec.
pub const GENERATE_RUN_KIND: &str = "generate";

/// A run in this process: where it works, with which agents, and who sees its output.
pub struct RunContext {
    pub id: String,
    pub kind: &'static str,
    pub project: Project,
    pub agent: AgentChoice,
    /// The agents that take over while the ones before them are rate limited.
    pub fallback: Vec<AgentChoice>,
    /// The judge, if a check needs one.
    pub judge: Option<JudgeChoice>,
    /// The file to which the agent's output is copied.
    pub session_log: Option<SessionLogFile>,
    pub visibility: OutputVisibility,
    /// The work tree that ralph created for the run, if there is one. It is the project's root then.
    pub own_worktree: Option<AssignedWorktree>,
    /// The fence of the worker's lease, if a worker drives the run as a stage.
    pub lease_fence: Option<i64>,
    /// The seal of the task of which the run is a stage, if there is one. It replaces a seal of the run itself.
    pub task_seal: Option<TaskSeal>,
}

/// Whether the agent's output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputVisibility {
    Shown,
    Hidden,
}

/// Where a stored run is resumed.
pub struct ResumeTarget {
    pub run_id: String,
    pub run_kind: String,
    pub project: Project,
    pub visibility: OutputVisibility,
}

impl RunContext {
    /// Restores the context of a run that is resumed.
    ///
    /// `env` returns the values of the variables that the configuration has for an agent. The caller must open the work tree
    /// that ralph created for the run.
    pub fn restore<E>(
        spec: &RunSpec,
        target: ResumeTarget,
        env: impl Fn(&StoredAgent) -> Result<Vec<(String, String)>, E>,
    ) -> Result<Self, E>
    where
        E: From<RunSpecError>,
    {
        let ResumeTarget { run_id: id, run_kind, project, visibility } = target;
        let kind = RUN_KINDS.iter().copied().find(|kind| *kind == run_kind);
        let kind = kind.ok_or(RunSpecError::UnknownKind { kind: run_kind })?;
        let restore_agent = |agent: &StoredAgent| -> Result<AgentChoice, E> {
            let env = env(agent)?;
            Ok(agent.to_choice(env).map_err(|source| RunSpecError::UnknownAgent { source })?)
        };
        let list = project.session_list_file(&id);
        let folder = spec.session_log_folder.as_deref();
        Ok(Self {
            id,
            kind,
            agent: restore_agent(&spec.agent)?,
            fallback: spec.fallback.iter().map(restore_agent).collect::<Result<_, E>>()?,
            judge: spec.judge.as_ref().map(|judge| judge.to_choice(restore_agent)).transpose()?,
            session_log: folder.map(|folder| SessionLogFile::new(folder, spec.session_log_bytes(), &list)),
            visibility,
            project,
            own_worktree: None,
            lease_fence: None,
            task_seal: None,
        })
    }

    /// Returns the folder with the logs of the run.
    #[must_use]
    pub fn run_folder(&self) -> PathBuf {
        self.project.run_folder(&self.id)
    }

    /// Returns all agents, the preferred one first.
    pub fn all_agents(&self) -> impl Iterator<Item = &AgentChoice> {
        std::iter::once(&self.agent).chain(&self.fallback)
    }

    /// Returns the agent with that number: 0 is the preferred one.
    #[must_use]
    pub fn agent_at(&self, number: u32) -> &AgentChoice {
        self.all_agents().nth(number as usize).unwrap_or(&self.agent)
    }

    /// Returns the path of the notes, relative to the project's root if possible.
    pub(in crate::run_driver) fn notes_display_path(&self) -> String {
        let path = self.project.notes_file(&self.id);
        path.strip_prefix(&self.project.root).unwrap_or(&path).display().to_string()
    }

    /// Returns the file to which an agent writes its usage, if it does so.
    #[must_use]
    pub(in crate::run_driver) fn usage_file_path(&self, choice: &AgentChoice) -> Option<PathBuf> {
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
            work_scope: choice.work_scope.clone().unwrap_or_default(),
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

    /// Returns the environment of this process without `remove` and with `set`. Each name occurs once, because programs
    /// differ in which of two values they use.
    pub(in crate::run_driver) fn child_environment(
        &self,
        remove: &[String],
        set: Vec<(String, String)>,
    ) -> Vec<(OsString, OsString)> {
        let inherited = std::env::vars_os().filter(|(name, _)| !remove.iter().any(|removed| name == removed.as_str()));
        let mut env: BTreeMap<OsString, OsString> = inherited.collect();
        env.extend(set.into_iter().map(|(name, value)| (name.into(), value.into())));
        env.insert(PROJECT_ENV_VAR.into(), self.project.root.clone().into());
        env.insert(NOTES_ENV_VAR.into(), self.project.notes_file(&self.id).into());
        env.into_iter().collect()
    }
}
