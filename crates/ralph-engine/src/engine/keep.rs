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

use super::plan::RunPlan;
use crate::git;
use crate::tree::{self, Mark, Moment, Workplace};
use ralph_process::heeding;

/// How long git may take at the end of a run that was stopped.
const IN_HASTE: Duration = Duration::from_secs(5);

/// What git would start by itself.
pub(super) type Deciding = Option<Vec<(String, Vec<u8>)>>;

/// Looks what git would start by itself in a work tree; nothing where that cannot be found out.
pub(super) fn deciding(root: &Path) -> Deciding {
    git::deciding_settings(root).ok()
}

/// A tree of ralph's own, and what git would have started there before the agents came.
#[derive(Clone)]
pub(super) struct Kept {
    place: Workplace,
    before: Deciding,
}

impl Kept {
    pub(super) fn of(plan: &RunPlan) -> Option<Self> {
        let place = plan.tree.clone()?;
        let before = deciding(&place.tree.path);
        Some(Self { place, before })
    }

    /// Keeps what the tree holds after an attempt. Returns why not, for people.
    pub(super) async fn after_attempt(self, key: AttemptKey) -> Option<String> {
        let kept = spawn_blocking(move || self.keep(key)).await;
        kept.unwrap_or_else(|error| Some(format!("the work of this attempt could not be kept: {error}")))
    }

    fn keep(self, key: AttemptKey) -> Option<String> {
        let Self { place: Workplace { site, tree, stage, .. }, before } = self;
        if before.is_none() || deciding(&tree.path) != before {
            return Some(
                "the work of this attempt is not kept: settings of git were changed that start programs"
                    .to_owned(),
            );
        }
        let mark = Mark { stage, iteration: key.iteration, attempt: key.attempt };
        match tree::snapshot(&site, &tree, &mark) {
            Ok(kept) => kept.left_out.map(|why| format!("not all of the work could be kept: {why}")),
            Err(error) => Some(format!("the work of this attempt could not be kept: {error}")),
        }
    }
}

/// The work tree of a run that can be compared and undone.
pub(super) struct Remembered {
    root: PathBuf,
    run: String,
    before: Deciding,
}

impl Remembered {
    /// Remembers what the work tree of a new run holds. Others are not looked at: they have asked for nothing that takes git.
    /// Of one that goes on nobody knows what its agents have changed.
    pub(super) async fn begin(plan: &RunPlan) -> Option<Self> {
        let is_wanted = !plan.checks.is_empty() || plan.tree.is_some();
        let (root, run) = (plan.project.root.clone(), plan.id.clone());
        let begun = is_wanted.then(|| {
            spawn_blocking(move || {
                remember(&root, &run, Moment::Before);
                Self { before: deciding(&root), root, run }
            })
        });
        begun?.await.ok()
    }

    /// Remembers what it holds at the end. Who has stopped the run does not wait for a git that hangs.
    pub(super) async fn end(self, outcome: Outcome) {
        let Self { root, run, before } = self;
        let halt = Arc::new(AtomicBool::new(false));
        let heeded = halt.clone();
        let look = move || {
            if before.is_some() && deciding(&root) == before {
                remember(&root, &run, Moment::After);
            }
        };
        let mut ended = spawn_blocking(move || heeding(heeded, look));
        let is_stopped = matches!(outcome, Outcome::Interrupted | Outcome::Cancelled);
        if is_stopped && tokio::time::timeout(IN_HASTE, &mut ended).await.is_ok() {
            return;
        }
        halt.store(is_stopped, Ordering::Relaxed);
        // It is not worth the run.
        let _ = ended.await;
    }
}

fn remember(root: &Path, run: &str, moment: Moment) {
    if let Err(error) = tree::remember(root, run, moment) {
        tracing::debug!(run, %error, "the work tree is not remembered");
    }
}
