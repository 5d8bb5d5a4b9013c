//! `ralph task show`.
use std::collections::BTreeMap;

use clap::Args;
use ralph_core::criterion::template::ParameterValues;
use ralph_core::task::{Role, Task, resolve_stage};

use super::find_task;
use crate::commands::config_args::ConfigArgs;
use crate::commands::{block_on, out};
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_app::view::{RoleCriteria, RunView, TaskView};
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};

/// Shows a task: what done means for each role, and what became of every claim
#[derive(Debug, Args)]
pub struct TaskShowArgs {
    id: String,
    /// Prints one object: id, status, completion, runs and the rest
    #[arg(long)]
    json: bool,
}

pub fn run(args: &TaskShowArgs) -> Result<u8, CommandError> {
    block_on(async {
        let (store, row) = find_task(&args.id).await?;
        let view = load_task_view(&store, row).await?;
        if args.json {
            out::print_line(&view.to_json().to_string());
        } else {
            out::print_wrapped(&view.to_text());
        }
        Ok(0)
    })
}

async fn load_task_view(store: &Store, row: TaskRow) -> Result<TaskView, CommandError> {
    let mut runs = Vec::new();
    for run in store.runs_of_task(&row.task.id).await? {
        runs.push(RunView::load(store, run).await?);
    }
    let heads = store.list_tasks().await?;
    let roles = resolve_roles(&row.task)?;
    Ok(TaskView::new(row, roles, runs, &heads))
}

/// Settles what each role is held to. A configuration that is wrong does not keep a task from being shown.
fn resolve_roles(task: &Task) -> Result<Vec<RoleCriteria>, CommandError> {
    let project = Project::find_here()?;
    let settings = ConfigArgs::default().load_settings(Some(&project)).unwrap_or_else(|failure| {
        out::print_note(&format!("warning: {}; the roles are shown without it", failure.message));
        Settings::default()
    });
    let templates = ralph_app::plan::project_templates(&project);
    let from =
        |name: &str, with: &BTreeMap<String, ParameterValues>| ralph_app::plan::fill_template(&templates, name, with);
    let held = |role: Role| {
        let resolved = resolve_stage(task, &role, &settings.role_rules(&role), &from);
        (role, resolved)
    };
    Ok(Role::BUILT_IN.map(held).into())
}
