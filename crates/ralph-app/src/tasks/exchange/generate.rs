//! A run whose agent writes tasks to a file, and whose check is an import of that file that stores nothing.
use std::path::Path;

use ralph_core::claim::Promise;
use ralph_core::criterion::{CheckCommand, Criterion, ExternalCheck};
use ralph_core::policy::{BaselineMode, MinimumProof, Policy};
use ralph_core::task::TaskGenerationPrompt;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{
    GENERATE_RUN_KIND, OutputVisibility, PromptSource, RunContext, RunPlan, RunSpec, new_run_id,
};
use ralph_engine::verify::AcceptancePolicy;

use crate::config::{Settings, SettingsPart};
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::plan::{AgentAccess, PlanRequest, build_default_plan, preflight_run};
use crate::run::PreparedRun;
use crate::trust::{CriteriaOrigin, ensure_approved_with};

/// The largest accepted spec; agents do not read longer ones.
const MAX_SPEC_BYTES: usize = 1 << 20;

/// The spec from which an agent generates tasks.
pub struct TaskSpec<'a> {
    pub id: String,
    pub text: String,
    /// The name of the spec in messages.
    pub name: &'a str,
}

/// How tasks are generated.
pub struct GenerationRequest<'a> {
    /// The settings with those of the request on top.
    pub settings: &'a Settings,
    /// Additional arguments for the chosen agent.
    pub extra_agent_args: Vec<String>,
    pub visibility: OutputVisibility,
    pub max_iterations: u32,
    /// The program and the arguments that validate a file with tasks; the path of the file is added.
    pub validation_command: Vec<String>,
}

/// The id of a run that generates tasks, and its prompt.
pub struct GenerationDraft {
    run_id: String,
    prompt: TaskGenerationPrompt,
}

impl GenerationDraft {
    /// Refuses a spec that is empty or too long.
    pub fn new(spec: TaskSpec<'_>, project: &Project) -> AppResult<Self> {
        let refused = |problem: &str| AppError::preflight(format!("the spec {} {problem}", spec.name));
        if spec.text.trim().is_empty() {
            return Err(refused("is empty").with_advice("describe what to build"));
        }
        if spec.text.len() > MAX_SPEC_BYTES {
            return Err(refused("is larger than 1 MB").with_advice("split it into several specs"));
        }
        let run_id = new_run_id();
        let answer = project.generated_tasks_file(&run_id);
        let answer = answer.strip_prefix(&project.root).unwrap_or(&answer).display().to_string();
        Ok(Self { run_id, prompt: TaskGenerationPrompt { spec_id: spec.id, spec_text: spec.text, answer } })
    }

    /// Returns the prompt for the agent.
    #[must_use]
    pub fn render_prompt(&self) -> String {
        self.prompt.render()
    }
}

/// Plans the run that generates the tasks. Fails if it could not start, or if the user has not approved its commands.
pub fn prepare_generation(
    draft: GenerationDraft,
    request: GenerationRequest<'_>,
    project: Project,
    person: &dyn Interaction,
) -> AppResult<PreparedRun> {
    let settings = request.settings;
    let plan = plan_generation(draft, request, project)?;
    preflight_run(&plan)?;
    ensure_approved_with(&plan, settings, CriteriaOrigin { checks: SettingsPart::Unused, templates: &[] }, person)?;
    Ok(PreparedRun { plan })
}

fn plan_generation(draft: GenerationDraft, request: GenerationRequest<'_>, project: Project) -> AppResult<RunPlan> {
    let GenerationDraft { run_id, prompt } = draft;
    let settings = request.settings;
    let promise = Promise::parse(TaskGenerationPrompt::PROMISE).map_err(|error| AppError::internal(&error))?;
    let plan_request = PlanRequest {
        settings,
        extra_agent_args: request.extra_agent_args,
        visibility: request.visibility,
        promise,
        prompt: PromptSource::Generate(Box::new(prompt)),
        checks: vec![import_check(&project, &run_id, request.validation_command)?],
        max_iterations: request.max_iterations,
        access: AgentAccess::AgentDefault,
    };
    let plan = build_default_plan(plan_request, project)?;
    let spec = RunSpec {
        // The agent writes to a folder that git ignores, so a changed answer does not show in the work tree.
        acceptance: AcceptancePolicy { is_always_fresh: true, ..AcceptancePolicy::default() },
        // The file to check does not exist before the first iteration.
        policy: Policy {
            context: settings.context.value,
            baseline: BaselineMode::Skip,
            required_proof: MinimumProof::Any,
            ..plan.spec.policy
        },
        ..plan.spec
    };
    Ok(RunPlan { spec, context: RunContext { id: run_id, kind: GENERATE_RUN_KIND, ..plan.context } })
}

/// Returns the check: the validation command on the agent's file.
fn import_check(project: &Project, run: &str, mut command: Vec<String>) -> AppResult<Criterion> {
    let (base, answer) = (project.base_folder(), project.generated_tasks_file(run));
    command.push(path_text(answer.strip_prefix(base).unwrap_or(&answer))?);
    // Started in the root, the check might find another project.
    let folder = base.strip_prefix(&project.root).ok().filter(|folder| !folder.as_os_str().is_empty());
    let working_dir = folder.map(path_text).transpose()?;
    let check = ExternalCheck { working_dir, ..ExternalCheck::new(CheckCommand::Argv(command)) };
    Ok(Criterion { name: Some("tasks".to_owned()), ..check.into() })
}

/// Returns a path as text. A check is stored as text.
pub fn path_text(path: &Path) -> AppResult<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        AppError::preflight(format!("the path {} is not valid UTF-8", path.display()))
            .with_advice("move the project to a path that is valid UTF-8")
    })
}
