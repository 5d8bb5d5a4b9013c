//! The files that a claim is about: they must be as they were when the claim was made.
use std::path::{Path, PathBuf};

use ralph_core::check_isolation::CheckIsolation;
use ralph_core::decision::WaitingClaim;
use ralph_core::receipt::WorkTreeSnapshot;
use ralph_engine::git::{self, GitError};
use ralph_engine::project::Project;
use ralph_engine::worktree::{self, TaskWorktree, WorktreeError, WorktreeLayout};
use ralph_store::RunRow;

use super::ControlAdvice;
use super::decide::parse_spec;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::view::short_id;

/// The work of a run without a task is accepted under this name.
const RUN_STAGE_NAME: &str = "run";

/// Where the claimed files are.
pub(super) struct ClaimedFiles {
    root: PathBuf,
    isolation: CheckIsolation,
    /// The work tree that ralph created for the run, if there is one.
    own_tree: Option<OwnTree>,
    run: String,
}

struct OwnTree {
    layout: WorktreeLayout,
    tree: TaskWorktree,
    stage: String,
}

impl ClaimedFiles {
    /// Finds the work tree of a run.
    pub(super) fn find(project: &Project, row: &RunRow) -> AppResult<Self> {
        let spec = parse_spec(row)?;
        let own_tree = match &spec.worktree_name {
            None => None,
            Some(name) => {
                let layout = WorktreeLayout::for_project(project)?;
                let tree = worktree::find_worktree(&layout, name)?;
                let tree = tree.ok_or_else(|| WorktreeError::NoWorktree { name: name.clone() })?;
                let stage =
                    spec.stage.as_ref().map_or_else(|| RUN_STAGE_NAME.to_owned(), |stage| stage.role.to_string());
                Some(OwnTree { layout, tree, stage })
            }
        };
        let root = own_tree.as_ref().map_or_else(|| project.root.clone(), |own| own.tree.path.clone());
        Ok(Self { root, isolation: spec.acceptance.isolation, own_tree, run: short_id(&row.id).to_owned() })
    }

    /// Refuses files that have changed since the claim.
    pub(super) async fn ensure_unchanged(&self, claim: &WaitingClaim) -> AppResult<()> {
        let Some(claimed) = &claim.snapshot else {
            return Err(AppError::preflight(format!("the claimed files of run {} were not recorded", self.run))
                .with_advice(ControlAdvice::RejectInstead { id: self.run.clone() }));
        };
        let (root, isolation) = (self.root.clone(), self.isolation);
        let now = tokio::task::spawn_blocking(move || read_snapshot(&root, isolation)).await;
        let now = now.map_err(|error| AppError::internal(&error))?;
        let now = now.map_err(|error| AppError::from_error(ErrorKind::GitFailed, &error))?;
        if claim.has_files_of(&now.tree) {
            return Ok(());
        }
        Err(AppError::preflight(format!("the files in {} have changed since the claim", self.root.display()))
            .with_cause(format!("the claim was about tree {}, and the files are tree {} now", claimed.tree, now.tree))
            .with_advice(ControlAdvice::RejectInstead { id: self.run.clone() }))
    }

    /// Moves the branch of the run's own work tree to the claimed files. Returns the commit; `None` without such a tree.
    pub(super) async fn accept_work(&self, claim: &WaitingClaim) -> AppResult<Option<String>> {
        self.accept_tree(claim.snapshot.as_ref().map(|snapshot| snapshot.tree.clone())).await
    }

    /// Moves the branch of the run's own work tree to these files. It may be repeated.
    pub(super) async fn accept_tree(&self, claimed: Option<String>) -> AppResult<Option<String>> {
        let Some(OwnTree { layout, tree, stage }) = &self.own_tree else { return Ok(None) };
        let (layout, tree, stage) = (layout.clone(), tree.clone(), stage.clone());
        let accepted = tokio::task::spawn_blocking(move || {
            let base = worktree::read_acceptance_base(&layout, &tree)?;
            worktree::accept_work(&layout, &tree, &base, &stage, claimed.as_deref())
        });
        let accepted = accepted.await.map_err(|error| AppError::internal(&error))?;
        Ok(Some(accepted?.commit))
    }
}

fn read_snapshot(root: &Path, isolation: CheckIsolation) -> Result<WorkTreeSnapshot, GitError> {
    match isolation {
        CheckIsolation::Workspace => git::take_snapshot(root),
        CheckIsolation::Clean => git::snapshot_head(root),
    }
}
