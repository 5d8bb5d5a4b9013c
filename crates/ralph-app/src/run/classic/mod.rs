//! Classic mode: a prompt file, a fresh agent for every iteration, and a session log. All git work is left to the agent;
//! ralph does not change the repository in this mode.
mod preflight;
mod session_log;
mod session_log_layout;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_agents::FileAccess;
use ralph_core::claim::{ContradictionSearch, Promise};
use ralph_core::criterion::Criterion;
use ralph_core::policy::{ExhaustionPolicy, Policy};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    NOTES_ENV_VAR, OutputVisibility, PromptSource, PromptTemplate, RunContext, RunPlan, RunSpec, new_run_id,
    session_log_bytes,
};
use ralph_util::session_log_file::SessionLogFile;

use super::{PreparedRun, refuse_recursion};
use crate::config::Settings;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::plan::{AgentAccess, PlanRequest, build_default_plan, ensure_provable, ensure_run_criteria, preflight_run};
use crate::trust::ensure_approved;

pub(super) use session_log::SessionLogWriter;

/// The promise that the prompt files of classic mode ask for.
const COMPLETION_PROMISE: &str = "COMPLETE";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassicMode {
    /// Writes the implementation plan.
    Plan,
    /// Implements the plan.
    Build,
    /// Runs a prompt file of the user.
    Prompt,
}

impl ClassicMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Build => "build",
            Self::Prompt => "prompt",
        }
    }
}

/// What a run in classic mode shall do.
pub struct ClassicRunRequest<'a> {
    pub mode: ClassicMode,
    /// The prompt file; `None` for the one of the mode in the ralph home.
    pub prompt_file: Option<PathBuf>,
    /// The settings with those of the request on top.
    pub settings: &'a Settings,
    /// Additional arguments for the chosen agent.
    pub extra_agent_args: Vec<String>,
    pub visibility: OutputVisibility,
    pub when_exhausted: ExhaustionPolicy,
}

/// Plans a run in classic mode. Fails if it could not start, or if the user has not approved its commands.
pub fn prepare_classic_run(
    request: ClassicRunRequest<'_>,
    project: Project,
    person: &dyn Interaction,
) -> AppResult<PreparedRun> {
    let (mode, settings) = (request.mode, request.settings);
    let prompt = request.resolve_prompt_path(&project)?;
    let plan = request.plan_run(project, &prompt)?;
    refuse_recursion(&plan.context.project)?;
    preflight_run(&plan)?;
    preflight::prepare_folders(&plan.context.project, &settings.specs_dir.value, person);
    ensure_approved(&plan, settings, person)?;
    preflight::require_implementation_plan(&plan)
        .and_then(|()| preflight::check_prompt(mode, &prompt, &plan.spec.claim_rules.promise, person))
        .map_err(|failure| preflight::add_home_advice(&plan.context.project, failure))?;
    Ok(PreparedRun { plan })
}

/// Returns the path of the notes of a run for its prompts. A path that is not UTF-8 is given relative to the root,
/// where agents work.
fn notes_path_text(project: &Project, run: &str) -> String {
    let path = project.notes_file(run);
    let from_root = path.strip_prefix(&project.root).unwrap_or(&path);
    path.to_str().map_or_else(|| from_root.display().to_string(), str::to_owned)
}

impl ClassicRunRequest<'_> {
    fn resolve_prompt_path(&self, project: &Project) -> AppResult<PathBuf> {
        match &self.prompt_file {
            Some(file) => std::path::absolute(file).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error)),
            None => Ok(project.home.join("prompts").join(format!("{}.md", self.mode.as_str()))),
        }
    }

    fn plan_run(self, project: Project, prompt: &Path) -> AppResult<RunPlan> {
        let promise = Promise::parse(COMPLETION_PROMISE).map_err(|error| AppError::internal(&error))?;
        let (mode, settings, id) = (self.mode, self.settings, new_run_id());
        let mut variables = self.prompt_variables();
        variables.insert(NOTES_ENV_VAR.to_owned(), notes_path_text(&project, &id));
        let max_bytes = session_log_bytes(settings.limits.log_limit.value);
        let session = SessionLogFile::new(&project.session_logs_folder(), max_bytes, &project.session_list_file(&id));
        let template = PromptTemplate { path: prompt.to_path_buf(), variables };
        let request = PlanRequest {
            settings,
            checks: self.select_checks(),
            access: self.access(),
            extra_agent_args: self.extra_agent_args,
            visibility: self.visibility,
            promise,
            prompt: PromptSource::Template(template),
            max_iterations: settings.default_max_iterations.value,
        };
        if mode == ClassicMode::Build {
            ensure_run_criteria(settings, &request.checks)?;
            ensure_provable(settings, &request.checks)?;
        }
        let plan = build_default_plan(request, project)?;
        let stall_after = settings.classic_stall_limit();
        let home = &plan.context.project.home;
        let mut claim_rules = plan.spec.claim_rules.clone();
        if mode == ClassicMode::Plan {
            // A plan lists open work.
            claim_rules.contradictions = ContradictionSearch::Off;
        }
        let spec = RunSpec {
            claim_rules,
            plan_file: (mode == ClassicMode::Build).then(|| home.join("implementation_plan.md")),
            policy: Policy { when_exhausted: self.when_exhausted, stall_after, ..plan.spec.policy },
            ..plan.spec
        };
        let context = RunContext { id, kind: mode.as_str(), ..plan.context };
        Ok(RunPlan { spec, context }.with_session_log(session))
    }

    /// Returns what the agent may do if the user sets no permission. In `build` it commits its work itself.
    fn access(&self) -> AgentAccess {
        match self.mode {
            ClassicMode::Build => AgentAccess::Work { files: FileAccess::Edit },
            ClassicMode::Plan | ClassicMode::Prompt => AgentAccess::AgentDefault,
        }
    }

    /// Returns the checks of the run. Only `build` has checks.
    fn select_checks(&self) -> Vec<Criterion> {
        match self.mode {
            ClassicMode::Build => self.settings.criteria(),
            ClassicMode::Plan | ClassicMode::Prompt => Vec::new(),
        }
    }

    /// Returns the variables that are constant for the whole run. Built-in variables override configured ones.
    fn prompt_variables(&self) -> BTreeMap<String, String> {
        let mut variables = self.settings.prompt_variables();
        variables.insert("MODE".to_owned(), self.mode.as_str().to_owned());
        variables.insert("SPECS_DIR".to_owned(), self.settings.specs_dir.value.clone());
        variables
    }
}
