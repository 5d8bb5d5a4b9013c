//! Loads everything about one task.
use std::collections::BTreeMap;

use ralph_core::criterion::Criterion;
use ralph_core::criterion::template::ParameterValues;
use ralph_core::task::{Role, Task, resolve_stage};
use ralph_engine::project::Project;

use crate::config::Settings;
use crate::error::AppResult;
use crate::plan::{fill_template, project_templates};
use crate::task_files::FoundTask;
use crate::view::{RoleCriteria, RunView, TaskView};

/// Returns what done means for each role under these settings, and how every run of the task ended.
pub async fn load_task_view(project: &Project, found: FoundTask, settings: &Settings) -> AppResult<TaskView> {
    let FoundTask { store, row } = found;
    let mut runs = Vec::new();
    for run in store.runs_of_task(&row.task.id).await? {
        runs.push(RunView::load(&store, run).await?);
    }
    let tasks = store.list_tasks().await?;
    let roles = resolve_roles(project, &row.task, settings);
    Ok(TaskView::new(row, roles, runs, &tasks))
}

fn resolve_roles(project: &Project, task: &Task, settings: &Settings) -> Vec<RoleCriteria> {
    let templates = project_templates(project);
    let from_template = |name: &str, with: &BTreeMap<String, ParameterValues>| fill_template(&templates, name, with);
    let resolve = |role: Role| {
        let resolved = resolve_stage(task, &role, &settings.role_rules(&role), &from_template);
        (role, resolved)
    };
    Role::BUILT_IN.map(resolve).into()
}

/// Returns what ralph verifies in a stage of a task, or `None` if the task is not valid.
#[must_use]
pub fn stage_criteria(project: &Project, task: &Task, role: &Role, settings: &Settings) -> Option<Vec<Criterion>> {
    let templates = project_templates(project);
    let from_template = |name: &str, with: &BTreeMap<String, ParameterValues>| fill_template(&templates, name, with);
    resolve_stage(task, role, &settings.role_rules(role), &from_template).ok().map(|resolved| resolved.criteria)
}
