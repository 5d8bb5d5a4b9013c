//! What a run's work tree holds is kept: after every attempt in a tree of ralph's own, and before and after a run whose work is
//! verified or has such a tree. It never holds a run up for anything but git, and a run does not fail for want of it.
use std::path::PathBuf;

use ralph_core::event::AttemptKey;
use tokio::task::spawn_blocking;

use super::plan::RunPlan;
use crate::tree::{self, Mark, Moment, TreeError, Workplace};

/// Keeps what a tree holds after an attempt. Returns why not, for people.
pub(super) async fn after_attempt(place: Option<Workplace>, key: AttemptKey) -> Option<String> {
    let Workplace { site, tree, stage, .. } = place?;
    let mark = Mark { stage, iteration: key.iteration, attempt: key.attempt };
    let kept = spawn_blocking(move || tree::snapshot(&site, &tree, &mark)).await;
    match kept {
        Ok(Ok(kept)) => kept.left_out.map(|why| format!("not all of the work could be kept: {why}")),
        Ok(Err(error)) => Some(format!("the work of this attempt could not be kept: {error}")),
        Err(error) => Some(format!("the work of this attempt could not be kept: {error}")),
    }
}

/// The work tree of a run that can be compared and undone.
pub(super) struct Remembered {
    root: PathBuf,
    run: String,
}

impl Remembered {
    /// Others are not looked at: they have asked for nothing that takes git.
    pub(super) fn of(plan: &RunPlan) -> Option<Self> {
        let is_wanted = !plan.checks.is_empty() || plan.tree.is_some();
        is_wanted.then(|| Self { root: plan.project.root.clone(), run: plan.id.clone() })
    }

    pub(super) async fn at(&self, moment: Moment) {
        let (root, run) = (self.root.clone(), self.run.clone());
        let kept = spawn_blocking(move || tree::remember(&root, &run, moment)).await;
        if let Ok(Err(error)) = kept {
            let error: TreeError = error;
            tracing::debug!(run = self.run, %error, "the work tree is not remembered");
        }
    }
}
