//! The plan of a stage: what a task and the settings ask of a role, settled before anything is started.
use std::cell::RefCell;
use std::collections::BTreeMap;

use ralph_core::criterion::template::Values;
use ralph_core::pipeline::Said;
use ralph_core::policy::{Context, Judging, Policy};
use ralph_core::task::{
    Approval, ProjectChecks, Resolved, Role, RoleRules, StagePrompt, Task, resolve, terms,
};

use super::templates;
use crate::cli::agent_args::AgentArgs;
use crate::cli::demand;
use crate::cli::run::preflight;
use crate::cli::trust;
use crate::cli::usual_plan::{Wanted, usual_plan};
use crate::error::Failure;
use ralph_app::config::{Part, Settings};
use ralph_engine::engine::{Audience, PromptSource, RunPlan, StageOf};
use ralph_engine::project::Project;
use ralph_store::TaskRow;
use ralph_util::sanitize::visible;

/// What is asked of a stage beside its task.
pub struct StageWanted<'a> {
    /// With those of the role on top.
    pub settings: &'a Settings,
    pub agent: &'a AgentArgs,
    pub audience: Audience,
    pub role: &'a Role,
    pub context: Context,
    /// Whatever the task says.
    pub max_iterations: Option<u32>,
    /// How the stages before it ended.
    pub earlier: Vec<Said>,
}

/// The plan of a stage in the project's own work tree.
pub struct StagePlan {
    pub plan: RunPlan,
    pub warnings: Vec<String>,
}

pub fn stage_plan(wanted: StageWanted<'_>, row: &TaskRow, project: Project) -> Result<StagePlan, Failure> {
    approved(row)?;
    let mut settings = wanted.settings.clone();
    row.task.completion.iter().for_each(|spec| settings.take_completion(spec));
    let settings = &settings;
    let wanted = StageWanted { settings, ..wanted };
    let role = wanted.role;
    let used = RefCell::new(Vec::new());
    let mut resolved = held_to(settings, &row.task, role, &used)?;
    let warnings = std::mem::take(&mut resolved.warnings);
    let checks = match resolved.project_checks {
        ProjectChecks::Added => Part::Used,
        ProjectChecks::Left => Part::Left,
    };
    let plan = planned(wanted, row, project, resolved)?;
    preflight(&plan)?;
    trust::ensure_with(&plan, settings, checks, &used.borrow())?;
    Ok(StagePlan { plan, warnings })
}

/// Settles what a role is held to, and takes note of the templates that say so.
fn held_to(
    settings: &Settings,
    task: &Task,
    role: &Role,
    used: &RefCell<Vec<String>>,
) -> Result<Resolved, Failure> {
    let from_template = |name: &str, with: &BTreeMap<String, Values>| {
        used.borrow_mut().push(name.to_owned());
        templates::filled(&settings.templates, name, with)
    };
    let rules: RoleRules = settings.role_rules(role);
    let resolved = resolve(task, role, &rules, &from_template)
        .map_err(|problem| Failure::preflight(&problem.what).hint(problem.hint))?;
    demand::ensure_stage(settings, task, (&rules, &resolved.criteria))?;
    Ok(resolved)
}

fn planned(
    wanted: StageWanted<'_>,
    row: &TaskRow,
    project: Project,
    resolved: Resolved,
) -> Result<RunPlan, Failure> {
    let StageWanted { settings, agent, audience, role, context, max_iterations, earlier, .. } = wanted;
    let prompt = StagePrompt::new(&row.task, role, &resolved).hearing(earlier);
    let usual = Wanted {
        settings,
        agent,
        audience,
        promise: resolved.promise,
        prompt: PromptSource::Stage(Box::new(prompt)),
        checks: resolved.criteria,
        max_iterations: max_iterations.unwrap_or(resolved.max_iterations),
    };
    let plan = usual_plan(usual, project)?;
    let shared = settings.shared_budgets(&row.task.id, row.task.spec_id.as_deref());
    let judging = if role.judges() { Judging::Yes } else { Judging::No };
    Ok(RunPlan {
        kind: "task",
        policy: Policy { context, duty: settings.duty(role), judging, shared, ..plan.policy },
        stage: Some(StageOf { task: row.task.id.clone(), role: role.clone(), lease: None }),
        ..plan
    })
}

/// Refuses a task of which an agent wrote what decides, and nobody has approved it.
pub fn approved(row: &TaskRow) -> Result<(), Failure> {
    if row.approval == Approval::Given {
        return Ok(());
    }
    let id = &row.task.id;
    let refused = Failure::preflight(format!(
        "an agent wrote what decides about task {id}, and nobody has approved it"
    ));
    let started =
        terms(&row.task).into_iter().map(|start| visible(&format!("{}: {}", start.place, start.what)));
    Err(started.fold(refused, Failure::cause).hint(format!("look at it, then run: ralph task approve {id}")))
}
