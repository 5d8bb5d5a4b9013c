//! A run in a work tree that ralph creates for it.
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ralph_core::event::StopSignal;
use ralph_core::outcome::{Outcome, RunEnd};
use ralph_core::receipt::Receipt;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{ControlInput, PROJECT_ENV_VAR, RunPlan, wait_for_stop_signal};
use ralph_engine::worktree::{
    self, AssignedWorktree, WorktreeError, WorktreeLayout, WorktreeOrigin, WorktreeSetupRequest,
};
use ralph_process::{JobCommand, Keeper};
use ralph_store::Store;
use tokio::sync::mpsc;

use crate::config::{ConfigSource, Settings, SettingsPart, SettingsUse};
use crate::error::AppResult;
use crate::interaction::Interaction;
use crate::trust::ensure_use_approved;
use crate::view::short_id;

/// The snapshots of an ad-hoc run are kept under this name.
const RUN_STAGE_NAME: &str = "run";

/// Creates a work tree for a new run. Its state stays in the project.
pub fn create_worktree(plan: RunPlan, settings: &Settings) -> AppResult<RunPlan> {
    let layout = WorktreeLayout::for_project(&plan.context.project)?;
    let name = format!("run-{}", short_id(&plan.context.id));
    let worktree = worktree::open_or_create(&layout, &name, &[])?.worktree;
    let assigned = AssignedWorktree {
        layout,
        worktree,
        snapshot_stage: RUN_STAGE_NAME.to_owned(),
        setup_commands: settings.pipeline.setup.value.clone(),
    };
    Ok(plan.with_own_worktree(assigned))
}

/// Opens the work tree of a run that is resumed. If it was removed, it is created and set up again.
pub fn reopen_worktree(
    plan: RunPlan,
    name: &str,
    config: &ConfigSource,
    person: &dyn Interaction,
) -> AppResult<RunPlan> {
    let layout = WorktreeLayout::for_project(&plan.context.project)?;
    let opened = worktree::open_or_create(&layout, name, &[])?;
    let setup_commands = match opened.origin {
        WorktreeOrigin::Existing => Vec::new(),
        WorktreeOrigin::Created | WorktreeOrigin::Recreated => {
            approved_setup_commands(&plan.context.project, config, person)?
        }
    };
    let snapshot_stage =
        plan.spec.stage.as_ref().map_or_else(|| RUN_STAGE_NAME.to_owned(), |stage| stage.role.to_string());
    let worktree = opened.worktree;
    Ok(plan.with_own_worktree(AssignedWorktree { layout, worktree, snapshot_stage, setup_commands }))
}

fn approved_setup_commands(
    project: &Project,
    config: &ConfigSource,
    person: &dyn Interaction,
) -> AppResult<Vec<String>> {
    let settings = config.load_settings(Some(project))?;
    let used = SettingsUse {
        agents: Vec::new(),
        permission: SettingsPart::Unused,
        checks: SettingsPart::Unused,
        criteria: &[],
        templates: &[],
    };
    ensure_use_approved(project, &settings, &used, person)?;
    Ok(settings.pipeline.setup.value)
}

/// Runs the setup commands in the work tree of a run, unless they have run there. A work tree whose setup failed is removed.
/// Returns the signal that stopped it, if one did.
pub async fn set_up_worktree(
    plan: &RunPlan,
    keeper: &Keeper,
    control: &mut ControlInput,
) -> AppResult<Option<StopSignal>> {
    let Some(assigned) = &plan.context.own_worktree else { return Ok(None) };
    let (commands, received) = mpsc::unbounded_channel();
    let request = WorktreeSetupRequest {
        keeper: keeper.clone(),
        commands: &assigned.setup_commands,
        env: setup_environment(&plan.context.project.root),
        run_id: &plan.context.id,
        log_folder: assigned.layout.state_folder().join("setup"),
    };
    let mut setup =
        std::pin::pin!(worktree::run_setup_commands(&assigned.worktree, request, received, || std::future::ready(
            true
        )));
    let (done, stopped) = tokio::select! {
        done = &mut setup => (done, None),
        signal = wait_for_stop_signal(control, &commands) => {
            let _ = commands.send(JobCommand::Kill);
            (setup.await, Some(signal))
        }
    };
    if done.is_err() {
        // The failed setup is the error to report; a work tree that cannot be removed is harmless.
        drop(worktree::discard_untouched(&assigned.layout, &assigned.worktree.task_id));
    }
    match stopped {
        Some(signal) => Ok(Some(signal)),
        None => Ok(done.map(|()| None)?),
    }
}

fn setup_environment(root: &Path) -> Vec<(OsString, OsString)> {
    let project = (PROJECT_ENV_VAR.into(), PathBuf::from(root).into());
    std::env::vars_os().filter(|(name, _)| name != PROJECT_ENV_VAR).chain([project]).collect()
}

/// Where the work of a run with a work tree is after its end.
#[derive(Debug)]
pub enum WorktreeOutcome {
    /// The run did not complete: the work tree has what was done so far.
    Unfinished { path: PathBuf },
    /// The branch has the verified work.
    Accepted { branch: String, tree: String },
    /// The branch could not be moved.
    NotAccepted { branch: String, reason: String },
}

/// Moves the branch to the verified work of a completed run.
pub async fn finish_worktree(
    assigned: &AssignedWorktree,
    store: &Store,
    run: &str,
    ended: &RunEnd,
) -> AppResult<WorktreeOutcome> {
    let tree = &assigned.worktree;
    if ended.outcome != Outcome::Completed {
        return Ok(WorktreeOutcome::Unfinished { path: tree.path.clone() });
    }
    let receipt = store.receipt_of_run(run).await?.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
    let verified = receipt.and_then(|receipt| receipt.input.repository).map(|snapshot| snapshot.tree);
    let layout = &assigned.layout;
    let accepted = worktree::read_acceptance_base(layout, tree)
        .and_then(|base| worktree::accept_work(layout, tree, &base, &assigned.snapshot_stage, verified.as_deref()));
    match accepted {
        Ok(_) => Ok(WorktreeOutcome::Accepted { branch: tree.branch(), tree: tree.task_id.clone() }),
        Err(error @ WorktreeError::Git(_)) => Err(error.into()),
        Err(error) => Ok(WorktreeOutcome::NotAccepted { branch: tree.branch(), reason: error.to_string() }),
    }
}
