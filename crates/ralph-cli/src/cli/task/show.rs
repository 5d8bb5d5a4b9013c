//! `ralph task show`.
use std::collections::BTreeMap;

use clap::Args;
use ralph_core::criterion::template::Values;
use ralph_core::task::{Role, Task, resolve};

use super::{picked, templates};
use crate::cli::config_args::ConfigArgs;
use crate::cli::{block_on, out};
use crate::error::Failure;
use ralph_app::config::Settings;
use ralph_app::view::{RoleHeld, RunView, TaskView};
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};

/// Shows a task: what done means for each role, and what became of every claim
#[derive(Debug, Args)]
pub struct ShowArgs {
    id: String,
    /// Prints one object: id, status, completion, runs and the rest
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ShowArgs) -> Result<u8, Failure> {
    block_on(async {
        let (store, row) = picked(&args.id).await?;
        let view = view(&store, row).await?;
        if args.json {
            out::line(&view.json().to_string());
        } else {
            out::answer(&view.text());
        }
        Ok(0)
    })
}

async fn view(store: &Store, row: TaskRow) -> Result<TaskView, Failure> {
    let mut runs = Vec::new();
    for run in store.runs_of_task(&row.task.id).await? {
        runs.push(RunView::load(store, run).await?);
    }
    let heads = store.tasks().await?;
    let roles = roles(&row.task)?;
    Ok(TaskView::new(row, roles, runs, &heads))
}

/// Settles what each role is held to. A configuration that is wrong does not keep a task from being shown.
fn roles(task: &Task) -> Result<Vec<RoleHeld>, Failure> {
    let project = Project::here()?;
    let settings = ConfigArgs::default().settings(Some(&project)).unwrap_or_else(|failure| {
        out::note(&format!("warning: {}; the roles are shown without it", failure.message));
        Settings::default()
    });
    let templates = templates::of(&project);
    let from = |name: &str, with: &BTreeMap<String, Values>| templates::filled(&templates, name, with);
    let held = |role: Role| {
        let resolved = resolve(task, &role, &settings.role_rules(&role), &from);
        (role, resolved)
    };
    Ok(Role::KNOWN.map(held).into())
}
