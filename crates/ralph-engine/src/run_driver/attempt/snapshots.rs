//! Snapshots of a run's work tree: before and after the run, and after every attempt if ralph created the work tree. A failed
//! snapshot does not fail the run.
//!
//! Git starts the programs that its settings name when it adds files after an attempt. Settings from before the run are the
//! user's; if an agent has changed them, no snapshot is taken.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_core::event::AttemptKey;
use ralph_core::outcome::Outcome;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use crate::git;
use crate::run_driver::control_input::{ControlEvent, ControlInput, SignalRequest};
use crate::run_driver::plan::run_context::RunContext;
use crate::run_driver::plan::run_plan::RunPlan;
use crate::worktree::{self, AssignedWorktree, BaseTree, ExactSnapshot, SnapshotKey};
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
    pub(in crate::run_driver) async fn save_after_attempt(
        self,
        key: AttemptKey,
        cancel_flag: Arc<AtomicBool>,
    ) -> Option<String> {
        let warning = spawn_blocking(move || with_cancel_flag(cancel_flag, || self.save_snapshot(key))).await;
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

/// The snapshot at the start of a run, against which its changes are compared and undone. It is taken while the start of the
/// run is being stored; neither the agent nor a check starts before it is complete.
#[derive(Clone)]
pub(in crate::run_driver) struct RunStartSnapshot {
    root: PathBuf,
    run: String,
    cancel_flag: Arc<AtomicBool>,
    taken: watch::Receiver<Option<TakenSnapshot>>,
}

/// The snapshot, or the reason why there is none.
type TakenSnapshot = Result<Arc<ExactSnapshot>, String>;

/// Whether a run can be undone, as its start knows it.
pub(in crate::run_driver) enum UndoNotice {
    /// Everything can be restored.
    None,
    /// Nothing or not everything can be restored: the sentence says why.
    Limited(String),
    /// The run was stopped before the snapshot was complete.
    Stopped,
}

impl RunStartSnapshot {
    /// Begins to take the snapshot of a new run. A resumed run has none, because its agents may already have changed files.
    pub(in crate::run_driver) fn begin(plan: &RunPlan) -> Self {
        let (root, run) = (plan.context.project.root.clone(), plan.context.id.clone());
        let base = if plan.spec.criteria.is_empty() { BaseTree::NotNeeded } else { BaseTree::Needed };
        let cancel_flag = Arc::new(AtomicBool::new(false));
        let (sender, taken) = watch::channel(None);
        let snapshot = Self { root: root.clone(), run: run.clone(), cancel_flag: Arc::clone(&cancel_flag), taken };
        spawn_blocking(move || {
            let recorded = with_cancel_flag(cancel_flag, || worktree::record_run_start(&root, &run, base));
            let _ = sender.send(Some(recorded.map(Arc::new).map_err(|error| error.to_string())));
        });
        snapshot
    }

    /// Waits until the snapshot is complete or has failed.
    pub(in crate::run_driver) async fn wait(&self) -> UndoNotice {
        match self.wait_for_result().await {
            _ if self.cancel_flag.load(Ordering::Relaxed) => UndoNotice::Stopped,
            Err(reason) => UndoNotice::Limited(format!("this run cannot be undone: {reason}")),
            Ok(snapshot) => match describe_left_out_paths(&snapshot) {
                Some(text) => UndoNotice::Limited(text),
                None => UndoNotice::None,
            },
        }
    }

    async fn wait_for_result(&self) -> TakenSnapshot {
        let mut taken = self.taken.clone();
        let result = taken.wait_for(Option::is_some).await.ok().and_then(|taken| taken.clone());
        result.unwrap_or_else(|| Err("the snapshot of the files failed".to_owned()))
    }

    /// Stops a snapshot that is not complete.
    pub(in crate::run_driver) fn cancel(&self) {
        if self.taken.borrow().is_none() {
            self.cancel_flag.store(true, Ordering::Relaxed);
        }
    }

    /// Takes a snapshot at the end. After a stop, it waits only briefly for a git that hangs; a stop meanwhile ends it.
    pub(in crate::run_driver) async fn record_end(self, outcome: Outcome, control: &mut ControlInput) {
        self.cancel();
        let Ok(before) = self.wait_for_result().await else { return };
        let Self { root, run, .. } = self;
        let cancel_flag = Arc::new(AtomicBool::new(false));
        let shared_flag = cancel_flag.clone();
        let record_tree = move || {
            if let Err(error) = worktree::record_run_end(&root, &run, &before) {
                tracing::debug!(run, %error, "cannot take a snapshot of the work tree");
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

/// The number of paths that a notice names.
const MAX_NAMED_PATHS: usize = 5;

/// Returns the paths that an undo does not restore, in one sentence.
fn describe_left_out_paths(snapshot: &ExactSnapshot) -> Option<String> {
    let left_out = &snapshot.notes.left_out;
    let named: Vec<String> = left_out
        .iter()
        .take(MAX_NAMED_PATHS)
        .map(|left| format!("{} ({})", left.path.display(), left.reason))
        .collect();
    let more = left_out.len().saturating_sub(MAX_NAMED_PATHS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("an undo of this run would leave out {}{more}", named.join(", ")))
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
