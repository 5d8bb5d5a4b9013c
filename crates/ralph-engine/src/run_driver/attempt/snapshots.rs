//! Snapshots of a run's work tree: after every attempt if ralph created the work tree, and before and after a run that has
//! checks or such a work tree. A failed snapshot does not fail the run.
//!
//! Git starts the programs that its settings name when it adds files. Settings from before the run are the user's; if an agent
//! has changed them, no snapshot is taken.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_core::event::AttemptKey;
use ralph_core::outcome::Outcome;
use tokio::task::spawn_blocking;

use crate::git;
use crate::run_driver::control_input::{ControlEvent, ControlInput, SignalRequest};
use crate::run_driver::plan::run_context::RunContext;
use crate::run_driver::plan::run_plan::RunPlan;
use crate::worktree::{self, AssignedWorktree, SnapshotKey, SnapshotMoment};
use ralph_process::with_cancel_flag;

/// How long git may take at the end of a run that was stopped.
const STOPPED_RUN_GIT_TIMEOUT: Duration = Duration::from_secs(5);

/// The git settings that name programs, or `None` if they cannot be read.
pub(in crate::run_driver) type GitProgramSettings = Option<Vec<(String, Vec<u8>)>>;

pub(in crate::run_driver) fn read_git_program_settings(root: &Path) -> GitProgramSettings {
    git::read_sensitive_settings(root).ok()
}

/// Saves the work after every attempt in a work tree that ralph created.
#[derive(Clone)]
pub(in crate::run_driver) struct AttemptSnapshots {
    assigned: AssignedWorktree,
    /// The settings before the first attempt.
    settings_before: GitProgramSettings,
}

impl AttemptSnapshots {
    pub(in crate::run_driver) fn for_context(context: &RunContext) -> Option<Self> {
        let assigned = context.own_worktree.clone()?;
        let settings_before = read_git_program_settings(&assigned.worktree.path);
        Some(Self { assigned, settings_before })
    }

    /// Takes a snapshot of the work tree after an attempt. Returns a warning if it is missing or incomplete.
    pub(in crate::run_driver) async fn save_after_attempt(self, key: AttemptKey) -> Option<String> {
        let warning = spawn_blocking(move || self.save_snapshot(key)).await;
        warning.unwrap_or_else(|error| Some(format!("cannot take a snapshot after this attempt: {error}")))
    }

    fn save_snapshot(self, key: AttemptKey) -> Option<String> {
        let Self { assigned, settings_before } = self;
        let AssignedWorktree { layout, worktree: tree, snapshot_stage: stage, .. } = assigned;
        if settings_before.is_none() || read_git_program_settings(&tree.path) != settings_before {
            let text = "no snapshot was taken after this attempt: git settings that start programs have changed";
            return Some(text.to_owned());
        }
        let snapshot_key = SnapshotKey { stage, iteration: key.iteration, attempt: key.attempt };
        match worktree::take_snapshot(&layout, &tree, &snapshot_key) {
            Ok(snapshot) => snapshot.left_out.map(|reason| format!("the snapshot is incomplete: {reason}")),
            Err(error) => Some(format!("cannot take a snapshot after this attempt: {error}")),
        }
    }
}

/// The snapshot at the start of a run, against which its changes are compared and undone.
pub(in crate::run_driver) struct RunDiffBase {
    root: PathBuf,
    run: String,
    settings_before: GitProgramSettings,
}

impl RunDiffBase {
    /// Takes a snapshot at the start of a new run. Runs without checks and without a created work tree do not need git.
    /// A resumed run has none, because its agents may already have changed the git settings.
    pub(in crate::run_driver) async fn record_start(plan: &RunPlan) -> Option<Self> {
        let is_wanted = !plan.spec.criteria.is_empty() || plan.context.own_worktree.is_some();
        let (root, run) = (plan.context.project.root.clone(), plan.context.id.clone());
        let recorded = is_wanted.then(|| {
            spawn_blocking(move || {
                record_tree_at(&root, &run, SnapshotMoment::Before);
                Self { settings_before: read_git_program_settings(&root), root, run }
            })
        });
        recorded?.await.ok()
    }

    /// Takes a snapshot at the end. After a stop, it waits only briefly for a git that hangs; a stop meanwhile ends it.
    pub(in crate::run_driver) async fn record_end(self, outcome: Outcome, control: &mut ControlInput) {
        let Self { root, run, settings_before } = self;
        let cancel_flag = Arc::new(AtomicBool::new(false));
        let shared_flag = cancel_flag.clone();
        let record_tree = move || {
            if settings_before.is_some() && read_git_program_settings(&root) == settings_before {
                record_tree_at(&root, &run, SnapshotMoment::After);
            }
        };
        let mut ended = spawn_blocking(move || with_cancel_flag(shared_flag, record_tree));
        let wait = match outcome {
            Outcome::Interrupted | Outcome::Cancelled => Some(STOPPED_RUN_GIT_TIMEOUT),
            Outcome::Completed
            | Outcome::Exhausted
            | Outcome::Failed
            | Outcome::Stalled
            | Outcome::OverBudget
            | Outcome::Blocked => None,
        };
        tokio::select! {
            _ = &mut ended => return,
            () = wait_for_stop(control) => {}
            () = sleep_if_some(wait) => {}
        }
        cancel_flag.store(true, Ordering::Relaxed);
        // A missing snapshot does not fail the run.
        let _ = ended.await;
    }
}

async fn wait_for_stop(control: &mut ControlInput) {
    while !matches!(control.next_event().await, ControlEvent::Signal(SignalRequest::Stop(_))) {}
}

async fn sleep_if_some(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

fn record_tree_at(root: &Path, run: &str, moment: SnapshotMoment) {
    if let Err(error) = worktree::record_run_tree(root, run, moment) {
        tracing::debug!(run, %error, "cannot take a snapshot of the work tree");
    }
}
