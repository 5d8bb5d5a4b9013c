//! `ralph run --worktree`: a run in a work tree of its own.
use std::ffi::OsString;
use std::path::PathBuf;

use ralph_core::outcome::{Outcome, RunEnd, exit_code};
use ralph_core::receipt::Receipt;
use tokio::sync::mpsc;

use super::config_args::ConfigArgs;
use super::{out, trust};
use crate::error::CommandError;
use ralph_app::config::{Settings, SettingsPart, SettingsUse};
use ralph_app::view::short_id;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{ControlInput, PROJECT_ENV_VAR, RunPlan, wait_for_stop_signal};
use ralph_engine::worktree::{
    self, AssignedWorktree, WorktreeError, WorktreeLayout, WorktreeOrigin, WorktreeSetupRequest,
};
use ralph_process::{JobCommand, Keeper};
use ralph_store::Store;

/// What its snapshots are kept under.
const RUN_STAGE_NAME: &str = "run";

/// Makes a tree for a new run. Its state stays in the project.
pub fn create_worktree(plan: RunPlan, settings: &Settings) -> Result<RunPlan, CommandError> {
    let site = WorktreeLayout::for_project(&plan.project)?;
    let name = format!("run-{}", short_id(&plan.id));
    let tree = worktree::open_or_create(&site, &name, &[])?.worktree;
    let setup = settings.pipeline.setup.value.clone();
    Ok(with_worktree(
        plan,
        AssignedWorktree {
            layout: site,
            worktree: tree,
            snapshot_stage: RUN_STAGE_NAME.to_owned(),
            setup_commands: setup,
        },
    ))
}

/// Opens the tree of a run that goes on. One that somebody removed is made and set up again.
pub fn reopen_worktree(plan: RunPlan, name: &str, config: &ConfigArgs) -> Result<RunPlan, CommandError> {
    let site = WorktreeLayout::for_project(&plan.project)?;
    let made = worktree::open_or_create(&site, name, &[])?;
    let setup = match made.origin {
        WorktreeOrigin::Existing => Vec::new(),
        WorktreeOrigin::Created | WorktreeOrigin::Recreated => approved_setup_commands(&plan.project, config)?,
    };
    let stage = plan.stage.as_ref().map_or_else(|| RUN_STAGE_NAME.to_owned(), |stage| stage.role.to_string());
    Ok(with_worktree(
        plan,
        AssignedWorktree { layout: site, worktree: made.worktree, snapshot_stage: stage, setup_commands: setup },
    ))
}

fn approved_setup_commands(project: &Project, config: &ConfigArgs) -> Result<Vec<String>, CommandError> {
    let settings = config.load_settings(Some(project))?;
    let used = SettingsUse {
        agents: Vec::new(),
        permission: SettingsPart::Unused,
        checks: SettingsPart::Unused,
        criteria: &[],
        templates: &[],
    };
    trust::ensure_use_approved(project, &settings, &used)?;
    Ok(settings.pipeline.setup.value)
}

fn with_worktree(plan: RunPlan, place: AssignedWorktree) -> RunPlan {
    let project = Project { root: place.worktree.path.clone(), home: plan.project.home.clone() };
    RunPlan { project, own_worktree: Some(place), ..plan }
}

/// Makes the tree of a run fit for work, where that is not done yet. A tree in which nothing could begin is removed. Returns the
/// exit code where a signal stopped it.
pub async fn set_up_worktree(plan: &RunPlan, keeper: &Keeper) -> Result<Option<u8>, CommandError> {
    let Some(place) = &plan.own_worktree else { return Ok(None) };
    let (orders, received) = mpsc::unbounded_channel();
    let with = WorktreeSetupRequest {
        keeper: keeper.clone(),
        commands: &place.setup_commands,
        env: setup_environment(&plan.project.root),
        run_id: &plan.id,
        log_folder: place.layout.state_folder().join("setup"),
    };
    let mut control =
        ControlInput::from_signals().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    let mut fitting = std::pin::pin!(worktree::run_setup_commands(&place.worktree, with, received, async || true));
    let (done, stopped) = tokio::select! {
        done = &mut fitting => (done, None),
        signal = wait_for_stop_signal(&mut control, &orders) => {
            let _ = orders.send(JobCommand::Kill);
            (fitting.await, Some(RunEnd::interrupted_by_signal(signal).exit_code))
        }
    };
    if done.is_err() {
        // What went wrong is said; what cannot be removed is not in the way.
        drop(worktree::discard_untouched(&place.layout, &place.worktree.task_id));
    }
    match stopped {
        Some(code) => Ok(Some(code)),
        None => Ok(done.map(|()| None)?),
    }
}

fn setup_environment(root: &std::path::Path) -> Vec<(OsString, OsString)> {
    let own = (PROJECT_ENV_VAR.into(), PathBuf::from(root).into());
    std::env::vars_os().filter(|(name, _)| name != PROJECT_ENV_VAR).chain([own]).collect()
}

/// Moves the branch to what was verified, and says where the work is.
pub async fn finish_worktree(
    place: &AssignedWorktree,
    store: &Store,
    run: &str,
    ended: &RunEnd,
) -> Result<(), CommandError> {
    let tree = &place.worktree;
    if ended.outcome != Outcome::Completed {
        out::print_note(&format!("tree      {} has the work so far", tree.path.display()));
        return Ok(());
    }
    let receipt = store.receipt_of_run(run).await?.and_then(|row| serde_json::from_str::<Receipt>(&row.body).ok());
    let verified = receipt.and_then(|receipt| receipt.input.repository).map(|seen| seen.tree);
    let accepted = worktree::read_acceptance_base(&place.layout, tree)
        .and_then(|from| worktree::accept_work(&place.layout, tree, &from, &place.snapshot_stage, verified.as_deref()));
    match accepted {
        Ok(_) => out::print_note(&format!("branch    {}; `ralph land {}` merges it", tree.branch(), tree.task_id)),
        Err(error @ WorktreeError::Git(_)) => return Err(error.into()),
        Err(error) => out::print_note(&format!("warning: {} was not moved: {error}", tree.branch())),
    }
    Ok(())
}
