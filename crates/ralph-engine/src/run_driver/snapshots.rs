//! What a run's work tree holds is kept: after every attempt in a tree of ralph's own, and before and after a run whose work is
//! verified or has such a tree. It never holds a run up for anything but git, and a run does not fail for want of it.
//!
//! Git starts the programs that its settings name when it takes files in. Those that were there before the run are the user's;
//! where an agent has changed them, nothing is kept any more.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_core::event::AttemptKey;
use ralph_core::outcome::Outcome;
use tokio::task::spawn_blocking;

use super::run_plan::RunPlan;
use crate::git;
use crate::worktree::{self, AssignedWorktree, SnapshotKey, SnapshotMoment};
use ralph_process::with_cancel_flag;

/// How long git may take at the end of a run that was stopped.
const STOPPED_RUN_GIT_TIMEOUT: Duration = Duration::from_secs(5);

/// What git would start by itself.
pub(super) type GitProgramSettings = Option<Vec<(String, Vec<u8>)>>;

/// Looks what git would start by itself in a work tree; nothing where that cannot be found out.
pub(super) fn read_git_program_settings(root: &Path) -> GitProgramSettings {
    git::read_sensitive_settings(root).ok()
}

/// A tree of ralph's own, and what git would have started there before the agents came.
#[derive(Clone)]
pub(super) struct AttemptSnapshots {
    workplace: AssignedWorktree,
    settings_before: GitProgramSettings,
}

impl AttemptSnapshots {
    pub(super) fn for_plan(plan: &RunPlan) -> Option<Self> {
        let place = plan.own_worktree.clone()?;
        let before = read_git_program_settings(&place.worktree.path);
        Some(Self { workplace: place, settings_before: before })
    }

    /// Keeps what the tree holds after an attempt. Returns why not, for people.
    pub(super) async fn save_after_attempt(self, key: AttemptKey) -> Option<String> {
        let warning = spawn_blocking(move || self.save_snapshot(key)).await;
        warning.unwrap_or_else(|error| Some(format!("the work of this attempt could not be kept: {error}")))
    }

    fn save_snapshot(self, key: AttemptKey) -> Option<String> {
        let Self {
            workplace: AssignedWorktree { layout: site, worktree: tree, snapshot_stage: stage, .. },
            settings_before: before,
        } = self;
        if before.is_none() || read_git_program_settings(&tree.path) != before {
            return Some(
                "the work of this attempt is not kept: settings of git were changed that start programs".to_owned(),
            );
        }
        let mark = SnapshotKey { stage, iteration: key.iteration, attempt: key.attempt };
        match worktree::take_snapshot(&site, &tree, &mark) {
            Ok(kept) => kept.left_out.map(|why| format!("not all of the work could be kept: {why}")),
            Err(error) => Some(format!("the work of this attempt could not be kept: {error}")),
        }
    }
}

/// The work tree of a run that can be compared and undone.
pub(super) struct RunDiffBase {
    root: PathBuf,
    run: String,
    settings_before: GitProgramSettings,
}

impl RunDiffBase {
    /// Remembers what the work tree of a new run holds. Others are not looked at: they have asked for nothing that takes git.
    /// Of one that goes on nobody knows what its agents have changed.
    pub(super) async fn record_start(plan: &RunPlan) -> Option<Self> {
        let is_wanted = !plan.criteria.is_empty() || plan.own_worktree.is_some();
        let (root, run) = (plan.project.root.clone(), plan.id.clone());
        let begun = is_wanted.then(|| {
            spawn_blocking(move || {
                record_tree_at(&root, &run, SnapshotMoment::Before);
                Self { settings_before: read_git_program_settings(&root), root, run }
            })
        });
        begun?.await.ok()
    }

    /// Remembers what it holds at the end. Who has stopped the run does not wait for a git that hangs.
    pub(super) async fn record_end(self, outcome: Outcome) {
        let Self { root, run, settings_before: before } = self;
        let cancel_flag = Arc::new(AtomicBool::new(false));
        let shared_flag = cancel_flag.clone();
        let record_tree = move || {
            if before.is_some() && read_git_program_settings(&root) == before {
                record_tree_at(&root, &run, SnapshotMoment::After);
            }
        };
        let mut ended = spawn_blocking(move || with_cancel_flag(shared_flag, record_tree));
        let is_stopped = matches!(outcome, Outcome::Interrupted | Outcome::Cancelled);
        if is_stopped && tokio::time::timeout(STOPPED_RUN_GIT_TIMEOUT, &mut ended).await.is_ok() {
            return;
        }
        cancel_flag.store(is_stopped, Ordering::Relaxed);
        // It is not worth the run.
        let _ = ended.await;
    }
}

fn record_tree_at(root: &Path, run: &str, moment: SnapshotMoment) {
    if let Err(error) = worktree::record_run_tree(root, run, moment) {
        tracing::debug!(run, %error, "the work tree is not remembered");
    }
}
