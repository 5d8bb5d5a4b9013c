//! Rebuilds the plan of a stored run, so that it can be resumed.
use std::io;

use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    OutputVisibility, ResumeTarget, RunContext, RunPlan, RunSpec, RunSpecError, StoredAgent,
};
use ralph_store::{RunRow, StoredRun};
use ralph_util::redact;

use super::worktree::reopen_worktree;
use crate::advice::Advice;
use crate::config::{ConfigSource, SettingsPart, SettingsUse};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::trust::ensure_use_approved;

/// How a stored run is to be resumed.
pub struct ResumeRequest<'a> {
    pub config: &'a ConfigSource,
    pub visibility: OutputVisibility,
    pub person: &'a dyn Interaction,
}

/// The plan of a stored run.
pub struct RebuiltRun {
    pub plan: RunPlan,
    /// Changes since the run started.
    pub changes: Vec<String>,
}

impl ResumeRequest<'_> {
    /// Rebuilds the plan of a stored run. The run keeps the settings that it started with; only the values of the agents'
    /// variables, which are never stored, come from the present configuration.
    pub fn rebuild_plan(&self, row: &RunRow, stored: &StoredRun, project: &Project) -> AppResult<RebuiltRun> {
        if stored.fence == 0 {
            return Err(AppError::preflight(format!("run {} cannot be resumed here", row.id))
                .with_cause("it was imported from a file, or written by an older ralph")
                .with_advice(Advice::StartNewRun));
        }
        if redact::has_redaction_mark(&row.settings) {
            // Registers the secrets of the configuration; a wrong configuration is reported below.
            drop(self.config.load_settings(Some(project)));
        }
        let mut spec = RunSpec::parse(&row.settings).map_err(|error| run_spec_error(&error))?;
        // A person may have changed them since the run started.
        spec.policy.max_iterations = stored.state.policy.max_iterations;
        spec.policy.budget = stored.state.policy.budget;
        // The driver that resumes the run decides.
        spec.policy.rate_limits.parking.is_possible = false;
        let mut changes = spec.describe_changes();
        changes.extend(self.describe_config_changes(project, spec.config_fingerprints.as_deref()));
        let worktree = spec.worktree_name.clone();
        let target = ResumeTarget {
            run_id: row.id.clone(),
            run_kind: row.kind.clone(),
            project: project.clone(),
            visibility: self.visibility,
        };
        let context = RunContext::restore(&spec, target, |agent| self.agent_variables(project, agent));
        let plan = RunPlan { context: context.map_err(AppError::from)?, spec };
        plan.spec.prompt.read_prompt(1, 1).map_err(|error| missing_prompt_error(&plan, &error))?;
        let plan = match worktree {
            Some(name) => reopen_worktree(plan, &name, self.config, self.person)?,
            None => plan,
        };
        Ok(RebuiltRun { plan, changes })
    }

    /// Returns what the configuration says differently since the run started.
    fn describe_config_changes(&self, project: &Project, then: Option<&[String]>) -> Vec<String> {
        let Some(then) = then else { return Vec::new() };
        let mut changes = match self.config.load_settings(Some(project)) {
            Ok(now) => now.describe_changes_since(then),
            Err(error) => vec![format!("the configuration is wrong now: {error}")],
        };
        if !changes.is_empty() {
            changes.push("the run keeps the settings that it started with; a new run takes the new ones".to_owned());
        }
        changes
    }

    fn agent_variables(
        &self,
        project: &Project,
        agent: &StoredAgent,
    ) -> Result<Vec<(String, String)>, PlanRebuildError> {
        if agent.env.is_empty() {
            return Ok(Vec::new());
        }
        self.read_agent_variables(project, agent).map_err(|error| PlanRebuildError::Environment(Box::new(error)))
    }

    fn read_agent_variables(&self, project: &Project, agent: &StoredAgent) -> AppResult<Vec<(String, String)>> {
        let settings = self.config.load_settings(Some(project))?;
        let used = SettingsUse {
            agents: vec![&agent.name],
            permission: SettingsPart::Unused,
            checks: SettingsPart::Unused,
            criteria: &[],
            templates: &[],
        };
        ensure_use_approved(project, &settings, &used, self.person)?;
        let configured = settings.agents.get(&agent.name).cloned().unwrap_or_default();
        let value = |name: &String| {
            let value = configured.env.get(name).map(|setting| (name.clone(), setting.value.clone()));
            value.ok_or_else(|| {
                AppError::preflight(format!("the configuration no longer has agents.{}.env.{name}", agent.name))
                    .with_advice(Advice::RestoreSetting)
            })
        };
        agent.env.iter().map(value).collect()
    }
}

/// The reason why the plan cannot be rebuilt.
enum PlanRebuildError {
    Spec(RunSpecError),
    Environment(Box<AppError>),
}

impl From<RunSpecError> for PlanRebuildError {
    fn from(error: RunSpecError) -> Self {
        Self::Spec(error)
    }
}

impl From<PlanRebuildError> for AppError {
    fn from(error: PlanRebuildError) -> Self {
        match error {
            PlanRebuildError::Spec(error) => run_spec_error(&error),
            PlanRebuildError::Environment(error) => *error,
        }
    }
}

fn run_spec_error(error: &RunSpecError) -> AppError {
    let advice = match error {
        RunSpecError::SecretNotStored => Advice::KeepSecretsInVariables,
        RunSpecError::UnsetVariables { .. } => Advice::Text("set it again as it was, then resume".to_owned()),
        RunSpecError::Format { .. }
        | RunSpecError::Newer { .. }
        | RunSpecError::UnknownKind { .. }
        | RunSpecError::UnknownAgent { .. } => Advice::StartNewRun,
    };
    AppError::from_error(ErrorKind::Preflight, error).with_advice(advice)
}

fn missing_prompt_error(plan: &RunPlan, error: &io::Error) -> AppError {
    let path = plan.spec.prompt.file_path().map(|path| format!(" {}", path.display())).unwrap_or_default();
    AppError::preflight(format!("the prompt{path} of the run can no longer be read"))
        .with_cause(error)
        .with_advice(Advice::RestorePromptFile)
}
