//! The plan of a stage: what a task and the settings ask of a role, settled before anything is started.
use std::cell::RefCell;
use std::collections::BTreeMap;

use ralph_core::criterion::template::ParameterValues;
use ralph_core::pipeline::StageReport;
use ralph_core::policy::{ContextMode, Policy, RejectTagUse};
use ralph_core::task::{
    Approval, ProjectChecks, ResolvedStage, Role, RoleRules, StagePrompt, Task, completion_terms, resolve_stage,
};

use crate::commands::agent_args::AgentArgs;
use crate::commands::trust;
use crate::error::CommandError;
use ralph_app::config::{Settings, SettingsPart};
use ralph_app::plan;
use ralph_app::plan::{PlanRequest, build_default_plan, preflight_run};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{OutputVisibility, PromptSource, RunPlan, TaskStage};
use ralph_store::TaskRow;
use ralph_util::sanitize::escape_hidden;

/// What is asked of a stage beside its task.
pub struct StageRequest<'a> {
    /// With those of the role on top.
    pub settings: &'a Settings,
    pub agent: &'a AgentArgs,
    pub audience: OutputVisibility,
    pub role: &'a Role,
    pub context: ContextMode,
    /// Whatever the task says.
    pub max_iterations: Option<u32>,
    /// How the stages before it ended.
    pub earlier_results: Vec<StageReport>,
}

/// The plan of a stage in the project's own work tree.
pub struct StagePlan {
    pub plan: RunPlan,
    pub warnings: Vec<String>,
}

pub fn plan_stage(request: StageRequest<'_>, row: &TaskRow, project: Project) -> Result<StagePlan, CommandError> {
    ensure_task_approved(row)?;
    let mut settings = request.settings.clone();
    row.task.completion.iter().for_each(|spec| settings.apply_completion(spec));
    let settings = &settings;
    let request = StageRequest { settings, ..request };
    let role = request.role;
    let used = RefCell::new(Vec::new());
    let mut resolved = resolve_criteria(settings, &row.task, role, &used)?;
    let warnings = std::mem::take(&mut resolved.warnings);
    let checks = match resolved.project_checks {
        ProjectChecks::Included => SettingsPart::Used,
        ProjectChecks::Omitted => SettingsPart::Unused,
    };
    let plan = build_run_plan(request, row, project, resolved)?;
    preflight_run(&plan)?;
    trust::ensure_approved_with(&plan, settings, checks, &used.borrow())?;
    Ok(StagePlan { plan, warnings })
}

/// Settles what a role is held to, and takes note of the templates that say so.
fn resolve_criteria(
    settings: &Settings,
    task: &Task,
    role: &Role,
    used: &RefCell<Vec<String>>,
) -> Result<ResolvedStage, CommandError> {
    let from_template = |name: &str, with: &BTreeMap<String, ParameterValues>| {
        used.borrow_mut().push(name.to_owned());
        plan::fill_template(&settings.templates, name, with)
    };
    let rules: RoleRules = settings.role_rules(role);
    let resolved = resolve_stage(task, role, &rules, &from_template)
        .map_err(|problem| CommandError::preflight_error(&problem.message).with_hint(problem.hint))?;
    plan::ensure_stage_criteria(settings, task, &rules, &resolved.criteria)?;
    Ok(resolved)
}

fn build_run_plan(
    request: StageRequest<'_>,
    row: &TaskRow,
    project: Project,
    resolved: ResolvedStage,
) -> Result<RunPlan, CommandError> {
    let StageRequest { settings, agent, audience, role, context, max_iterations, earlier_results: earlier, .. } =
        request;
    let prompt = StagePrompt::new(&row.task, role, &resolved).with_earlier_stages(earlier);
    let plan_request = PlanRequest {
        settings,
        extra_agent_args: agent.extra_args(),
        visibility: audience,
        promise: resolved.promise,
        prompt: PromptSource::Stage(Box::new(prompt)),
        checks: resolved.criteria,
        max_iterations: max_iterations.unwrap_or(resolved.max_iterations),
    };
    let plan = build_default_plan(plan_request, project)?;
    let shared = settings.shared_budgets(&row.task.id, row.task.spec_id.as_deref());
    let judging = if role.can_send_back() { RejectTagUse::Yes } else { RejectTagUse::No };
    Ok(RunPlan {
        kind: "task",
        policy: Policy { context, duty: settings.role_duty(role), judging, shared, ..plan.policy },
        stage: Some(TaskStage { task: row.task.id.clone(), role: role.clone(), lease_fence: None }),
        ..plan
    })
}

/// Refuses a task of which an agent wrote what decides, and nobody has approved it.
pub fn ensure_task_approved(row: &TaskRow) -> Result<(), CommandError> {
    if row.approval == Approval::Granted {
        return Ok(());
    }
    let id = &row.task.id;
    let refused = CommandError::preflight_error(format!(
        "an agent wrote what decides about task {id}, and nobody has approved it"
    ));
    let started = completion_terms(&row.task)
        .into_iter()
        .map(|start| escape_hidden(&format!("{}: {}", start.location, start.description)));
    Err(started
        .fold(refused, CommandError::with_cause)
        .with_hint(format!("look at it, then run: ralph task approve {id}")))
}
