//! The work tree of a workflow run: created once, and opened again when the run is resumed.
use ralph_core::event::StopSignal;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{ControlInput, PROJECT_ENV_VAR, wait_for_stop_signal};
use ralph_engine::worktree::{self, AssignedWorktree, WorktreeError, WorktreeLayout, WorktreeSetupRequest};
use ralph_process::{JobCommand, Keeper};
use tokio::sync::mpsc::unbounded_channel;

use crate::error::{AppError, AppResult};
use crate::run::WorktreeOutcome;
use crate::view::short_id;

/// The snapshots of a workflow run are kept under this name.
const STAGE_NAME: &str = "workflow";

/// Returns the name of the work tree of a run.
#[must_use]
pub fn worktree_name(run: &str) -> String {
    format!("run-{}", short_id(run))
}

/// Creates the work tree of a run, or opens it.
pub fn open_worktree(project: &Project, name: &str, setup: &[String]) -> AppResult<AssignedWorktree> {
    let layout = WorktreeLayout::for_project(project)?;
    let opened = worktree::open_or_create(&layout, name, &[]).map_err(|error| match error {
        error @ WorktreeError::NoCommitYet => {
            AppError::from(error).with_advice("commit first, or run the workflow in the checkout itself")
        }
        error => AppError::from(error),
    })?;
    Ok(AssignedWorktree {
        layout,
        worktree: opened.worktree,
        snapshot_stage: STAGE_NAME.to_owned(),
        setup_commands: setup.to_vec(),
    })
}

/// Runs the setup commands in the work tree, unless they have run there. Returns the signal that stopped them, if one did.
pub async fn set_up(
    assigned: &AssignedWorktree,
    project: &Project,
    run: &str,
    keeper: &Keeper,
    control: &mut ControlInput,
) -> AppResult<Option<StopSignal>> {
    if assigned.setup_commands.is_empty() {
        return Ok(None);
    }
    let (commands, received) = unbounded_channel();
    let own = (PROJECT_ENV_VAR.into(), project.root.clone().into());
    let request = WorktreeSetupRequest {
        keeper: keeper.clone(),
        commands: &assigned.setup_commands,
        env: std::env::vars_os().filter(|(name, _)| name != PROJECT_ENV_VAR).chain([own]).collect(),
        run_id: run,
        log_folder: assigned.layout.state_folder().join("setup"),
    };
    let setup = worktree::run_setup_commands(&assigned.worktree, request, received, || std::future::ready(true));
    let mut setup = std::pin::pin!(setup);
    tokio::select! {
        done = &mut setup => Ok(done.map(|()| None)?),
        signal = wait_for_stop_signal(control, &commands) => {
            let _ = commands.send(JobCommand::Kill);
            // The stop is the result, whatever the killed command reports.
            let _ = setup.await;
            Ok(Some(signal))
        }
    }
}

/// Moves the branch to the work of a completed run.
pub fn deliver(assigned: &AssignedWorktree, is_completed: bool) -> AppResult<WorktreeOutcome> {
    let tree = &assigned.worktree;
    if !is_completed {
        return Ok(WorktreeOutcome::Unfinished { path: tree.path.clone() });
    }
    let layout = &assigned.layout;
    let accepted = worktree::read_acceptance_base(layout, tree)
        .and_then(|base| worktree::accept_work(layout, tree, &base, &assigned.snapshot_stage, None));
    match accepted {
        Ok(_) => Ok(WorktreeOutcome::Accepted { branch: tree.branch(), tree: tree.task_id.clone() }),
        Err(error @ WorktreeError::Git(_)) => Err(error.into()),
        Err(error) => Ok(WorktreeOutcome::NotAccepted { branch: tree.branch(), reason: error.to_string() }),
    }
}
