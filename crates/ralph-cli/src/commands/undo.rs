//! `ralph undo`.
use clap::Args;
use ralph_core::outcome::exit_code;
use serde_json::json;

use super::diff::worktree_root;
use super::land_lock::try_lock_project;
use super::resume::refuse_tracked_state;
use super::{block_on, out, run_lookup};
use crate::error::CommandError;
use ralph_app::run::FoundRun;
use ralph_app::run::refuse_recursion;
use ralph_app::view::{pluralize, short_id};
use ralph_app::worktrees::WorktreeOwner;
use ralph_engine::project::Project;
use ralph_engine::run_driver::RunSpec;
use ralph_engine::worktree::{self, UndoResult};
use ralph_store::{RunRow, Store};
use ralph_util::sanitize::escape_hidden;

/// Puts the files that a run changed back as they were before it
///
/// Commits stay: where the run made some, the undoing is a change that you can commit. What lay there is kept, under a
/// reference that is printed. Nothing is touched if one of these files has been changed since the run.
#[derive(Debug, Args)]
pub struct UndoArgs {
    /// The beginning or the end of an id
    run: String,
    /// Prints one object: run, files, kept
    #[arg(long)]
    json: bool,
}

pub fn run(args: &UndoArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    refuse_tracked_state(&project)?;
    block_on(async {
        let FoundRun { store, run } = run_lookup::find_run(Some(&args.run)).await?;
        if run.status == "running" {
            return Err(CommandError::preflight_error(format!("run {} goes on", short_id(&run.id)))
                .with_hint("stop it first, or wait for its end"));
        }
        let undone = undo_run(&project, &store, &run).await;
        store.close().await;
        let undone = undone?;
        let files: Vec<String> = undone.files.iter().map(|file| file.display().to_string()).collect();
        if args.json {
            out::print_line(&json!({ "run": run.id, "files": files, "kept": undone.backup_ref }).to_string());
            return Ok(exit_code::COMPLETED);
        }
        files.iter().for_each(|file| out::print_line(&escape_hidden(file)));
        let count = i64::try_from(files.len()).unwrap_or(i64::MAX);
        out::print_line(&format!("{} of run {} put back", pluralize(count, "file"), short_id(&run.id)));
        out::print_line(&format!("what lay there is kept: {}", undone.backup_ref));
        Ok(exit_code::COMPLETED)
    })
}

/// Undoes it while nobody else works in the files.
async fn undo_run(project: &Project, store: &Store, run: &RunRow) -> Result<UndoResult, CommandError> {
    let root = worktree_root(project, run)?;
    let settings = RunSpec::parse(&run.settings).ok();
    let Some(name) = settings.as_ref().and_then(RunSpec::worktree_name) else {
        let _held = try_lock_project(project, "lock").await?;
        return Ok(worktree::undo_run(&root, &run.id)?);
    };
    let reservation = WorktreeOwner::find(store, name).await?.reserve_worktree(store, project).await?;
    let undone = worktree::undo_run(&root, &run.id);
    reservation.release(store).await?;
    Ok(undone?)
}
