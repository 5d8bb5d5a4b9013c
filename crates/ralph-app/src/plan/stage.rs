//! Plans a stage of a task from the task and the settings, before anything starts.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

use ralph_agents::FileAccess;
use ralph_core::criterion::template::ParameterValues;
use ralph_core::pipeline::StageReport;
use ralph_core::policy::{ContextMode, Policy, RejectTagUse};
use ralph_core::task::{
    Approval, ProjectChecks, ResolvedStage, Role, RoleRules, Specification, StagePrompt, Task, completion_terms,
    resolve_stage,
};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{OutputVisibility, PromptSource, RunContext, RunPlan, RunSpec, TaskStage};
use ralph_store::TaskRow;
use ralph_util::sanitize::escape_hidden;

use super::require_criteria::{ensure_provable, ensure_stage_criteria};
use super::template_checks::fill_template;
use super::{AgentAccess, PlanRequest, build_default_plan, preflight_run};
use crate::advice::Advice;
use crate::config::{Settings, SettingsPart};
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::trust::{CriteriaOrigin, ensure_approved_with};

/// A longer specification is cut: the prompt names its file.
const MAX_SPEC_BYTES: u64 = 64 * 1024;

/// The settings of a stage, in addition to its task.
pub struct StageRequest<'a> {
    /// The settings with those of the role on top.
    pub settings: &'a Settings,
    /// Additional arguments for the chosen agent.
    pub extra_agent_args: Vec<String>,
    pub visibility: OutputVisibility,
    pub role: &'a Role,
    pub context: ContextMode,
    /// Overrides the limit of the task.
    pub max_iterations: Option<u32>,
    /// How the earlier stages ended.
    pub earlier_results: Vec<StageReport>,
}

/// The plan of a stage in the project's work tree.
pub struct StagePlan {
    pub plan: RunPlan,
    pub warnings: Vec<String>,
}

/// Plans a stage. Fails if its agents cannot start or its commands are not approved.
pub fn plan_stage(
    request: StageRequest<'_>,
    row: &TaskRow,
    project: Project,
    person: &dyn Interaction,
) -> AppResult<StagePlan> {
    ensure_task_approved(row)?;
    let mut settings = request.settings.clone();
    row.task.completion.iter().for_each(|spec| settings.apply_completion(spec));
    let settings = &settings;
    let request = StageRequest { settings, ..request };
    let used_templates = RefCell::new(Vec::new());
    let mut resolved = resolve_criteria(settings, &row.task, request.role, &used_templates)?;
    let warnings = std::mem::take(&mut resolved.warnings);
    let checks = match resolved.project_checks {
        ProjectChecks::Included => SettingsPart::Used,
        ProjectChecks::Omitted => SettingsPart::Unused,
    };
    let plan = build_stage_plan(request, row, project, resolved)?;
    preflight_run(&plan)?;
    let templates = used_templates.borrow();
    ensure_approved_with(&plan, settings, CriteriaOrigin { checks, templates: &templates }, person)?;
    Ok(StagePlan { plan, warnings })
}

/// Resolves the criteria of a role, and collects the names of the templates that they use.
fn resolve_criteria(
    settings: &Settings,
    task: &Task,
    role: &Role,
    used_templates: &RefCell<Vec<String>>,
) -> AppResult<ResolvedStage> {
    let from_template = |name: &str, with: &BTreeMap<String, ParameterValues>| {
        used_templates.borrow_mut().push(name.to_owned());
        fill_template(&settings.templates, name, with)
    };
    let rules: RoleRules = settings.role_rules(role);
    let resolved = resolve_stage(task, role, &rules, &from_template)
        .map_err(|problem| AppError::preflight(&problem.message).with_advice(problem.hint))?;
    ensure_stage_criteria(settings, task, &rules, &resolved.criteria)?;
    if *role == Role::Coder {
        ensure_provable(settings, &resolved.criteria)?;
    }
    Ok(resolved)
}

fn build_stage_plan(
    request: StageRequest<'_>,
    row: &TaskRow,
    project: Project,
    resolved: ResolvedStage,
) -> AppResult<RunPlan> {
    let StageRequest { settings, extra_agent_args, visibility, role, context, max_iterations, earlier_results } =
        request;
    let prompt = StagePrompt::new(&row.task, role, &resolved)
        .with_earlier_stages(earlier_results)
        .with_specification(read_specification(settings, &project, &row.task));
    let plan_request = PlanRequest {
        settings,
        extra_agent_args,
        visibility,
        promise: resolved.promise,
        prompt: PromptSource::Stage(Box::new(prompt)),
        checks: resolved.criteria,
        max_iterations: max_iterations.unwrap_or(resolved.max_iterations),
        access: AgentAccess::Work { files: if role.may_edit() { FileAccess::Edit } else { FileAccess::Read } },
    };
    let plan = build_default_plan(plan_request, project)?;
    let shared = settings.shared_budgets(&row.task.id, row.task.spec_id.as_deref());
    let judging = if role.can_send_back() { RejectTagUse::Yes } else { RejectTagUse::No };
    let spec = RunSpec {
        policy: Policy { context, duty: settings.role_duty(role), judging, shared, ..plan.spec.policy },
        stage: Some(TaskStage { task: row.task.id.clone(), role: role.clone() }),
        ..plan.spec
    };
    Ok(RunPlan { spec, context: RunContext { kind: "task", ..plan.context } })
}

/// Reads the specification of a task, as far as it fits into a prompt: `spec_file`, or the file in the specs folder that
/// is named after `spec_id`.
pub(crate) fn read_specification(settings: &Settings, project: &Project, task: &Task) -> Option<Specification> {
    let path = match (&task.spec_file, &task.spec_id) {
        (Some(path), _) => path.clone(),
        (None, Some(name)) => format!("{}/{name}.md", settings.specs_dir.value.trim_end_matches('/')),
        (None, None) => return None,
    };
    let mut bytes = Vec::new();
    // The file may be a pipe without a writer.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(project.root.join(&path));
    let read = opened.and_then(|file| match file.metadata()?.is_file() {
        true => file.take(MAX_SPEC_BYTES + 1).read_to_end(&mut bytes),
        false => Err(ErrorKind::InvalidInput.into()),
    });
    let is_cut = bytes.len() as u64 > MAX_SPEC_BYTES;
    if read.is_err() {
        return Some(Specification::Missing { path });
    }
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if is_cut {
        text.truncate(text.rfind('\n').unwrap_or(text.len()));
    }
    Some(Specification::Found { path, text, is_cut })
}

/// Refuses a task whose criteria an agent wrote and no person has approved.
pub fn ensure_task_approved(row: &TaskRow) -> AppResult<()> {
    if row.approval == Approval::Granted {
        return Ok(());
    }
    let id = &row.task.id;
    let refused =
        AppError::preflight(format!("an agent wrote the criteria of task {id}, and no person has approved them"));
    let terms = completion_terms(&row.task).into_iter();
    let terms = terms.map(|term| escape_hidden(&format!("{}: {}", term.location, term.description)));
    Err(terms.fold(refused, AppError::with_cause).with_advice(Advice::ApproveTask { task: id.clone() }))
}
