//! The work trees of the tasks in progress.
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ralph_core::task::Role;
use tokio::sync::Semaphore;

use super::services::AcceptedStage;
use super::worktree_setup::SetupContext;
use crate::error::{AppError, AppResult, ErrorKind};
use ralph_engine::project::Project;
use ralph_engine::worktree::{
    self, AcceptanceBase, AssignedWorktree, TaskWorktree, UnlandedWork, WorktreeError, WorktreeLayout,
    WorktreeSetupRequest,
};
use ralph_store::TaskRow;

/// How many work trees are created or changed at the same time.
const MAX_CONCURRENT_GIT_CALLS: usize = 2;

pub(super) struct TaskWorktrees {
    project: Project,
    layout: WorktreeLayout,
    worktrees: Mutex<BTreeMap<String, TaskWorktree>>,
    /// Limits concurrent calls of git, which would wait for each other's locks.
    git_permits: Semaphore,
}

impl TaskWorktrees {
    pub(super) fn new(project: &Project) -> AppResult<Self> {
        Ok(Self {
            project: project.clone(),
            layout: WorktreeLayout::for_project(project)?,
            worktrees: Mutex::default(),
            git_permits: Semaphore::new(MAX_CONCURRENT_GIT_CALLS),
        })
    }

    /// Creates or opens the work tree of a task, and returns the project with the work tree as its root.
    pub(super) async fn open_task_worktree(&self, row: &TaskRow) -> AppResult<Project> {
        let (task, dependencies) = (row.task.id.clone(), row.task.dependencies().to_vec());
        let opened =
            self.run_git_blocking(move |layout| worktree::open_or_create(layout, &task, &dependencies)).await?;
        let root = opened.worktree.path.clone();
        self.lock_worktrees().insert(row.task.id.clone(), opened.worktree);
        Ok(self.project.with_root(root))
    }

    /// Returns the run id of the setup commands of a task. It names the project: other projects have tasks of the same id.
    pub(super) fn setup_run_id(&self, row: &TaskRow) -> String {
        format!("setup-{}-{}", self.layout.project_key(), row.task.id)
    }

    /// Runs the setup commands in the work tree of a task, unless they have run there.
    pub(super) async fn set_up_worktree(
        &self,
        row: &TaskRow,
        commands: &[String],
        context: SetupContext,
    ) -> AppResult<()> {
        let tree = self.opened_worktree(row)?;
        let run_id = self.setup_run_id(row);
        let lease = context.lease_check();
        let request = WorktreeSetupRequest {
            keeper: context.keeper,
            commands,
            env: std::env::vars_os().collect(),
            run_id: &run_id,
            log_folder: self.project.state_folder().join("setup").join(&row.task.id),
        };
        Ok(worktree::run_setup_commands(&tree, request, context.commands, || lease.is_held()).await?)
    }

    /// Reads the position of the branch of a task.
    pub(super) async fn read_acceptance_base(&self, row: &TaskRow) -> AppResult<AcceptanceBase> {
        let tree = self.opened_worktree(row)?;
        self.run_git_blocking(move |layout| worktree::read_acceptance_base(layout, &tree)).await
    }

    /// Moves the branch of a task to the accepted work, and returns its commit.
    pub(super) async fn accept_work(&self, row: &TaskRow, accepted: AcceptedStage) -> AppResult<String> {
        let tree = self.opened_worktree(row)?;
        let AcceptedStage { position_before, stage, verified_tree } = accepted;
        let accept = move |layout: &WorktreeLayout| {
            worktree::accept_work(layout, &tree, &position_before, stage.as_str(), verified_tree.as_deref())
        };
        self.run_git_blocking(accept).await.map(|work| work.commit)
    }

    fn lock_worktrees(&self) -> MutexGuard<'_, BTreeMap<String, TaskWorktree>> {
        self.worktrees.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened_worktree(&self, row: &TaskRow) -> AppResult<TaskWorktree> {
        let open = self.lock_worktrees().get(&row.task.id).cloned();
        open.ok_or_else(|| AppError::from_message(ErrorKind::Internal, format!("{} has no work tree", row.task.id)))
    }

    /// Returns the accepted work that is not in the user's branch.
    pub(super) async fn list_unlanded(&self) -> AppResult<Vec<UnlandedWork>> {
        self.run_git_blocking(worktree::list_unlanded_work).await
    }

    /// Returns the work tree of a stage, in which a snapshot is taken after every attempt.
    pub(super) fn assigned_worktree(&self, row: &TaskRow, stage: &Role) -> Option<AssignedWorktree> {
        let tree = self.lock_worktrees().get(&row.task.id).cloned()?;
        Some(AssignedWorktree {
            layout: self.layout.clone(),
            worktree: tree,
            snapshot_stage: stage.as_str().to_owned(),
            setup_commands: Vec::new(),
        })
    }

    /// Returns the commit from which the work on a task started, if its work tree is open. A judge judges all work since.
    pub(super) fn task_base(&self, row: &TaskRow) -> Option<String> {
        self.lock_worktrees().get(&row.task.id).map(|tree| tree.base.clone())
    }

    /// Runs git work on a blocking thread, so that the other tasks continue.
    async fn run_git_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WorktreeLayout) -> Result<T, WorktreeError> + Send + 'static,
    ) -> AppResult<T> {
        let layout = self.layout.clone();
        let _permit = self.git_permits.acquire().await;
        let result = tokio::task::spawn_blocking(move || work(&layout)).await;
        Ok(result.map_err(|error| AppError::internal(&error))??)
    }
}
