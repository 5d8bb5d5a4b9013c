//! The work trees of the tasks in progress.
use std::cell::RefCell;
use std::collections::BTreeMap;

use ralph_core::task::Role;
use tokio::sync::Semaphore;

use super::services::AcceptedStage;
use super::worktree_setup::SetupContext;
use crate::error::{AppError, AppResult, ErrorKind};
use ralph_engine::project::Project;
use ralph_engine::run_driver::JudgeChoice;
use ralph_engine::worktree::{
    self, AcceptanceBase, AssignedWorktree, TaskWorktree, UnlandedWork, WorktreeError, WorktreeLayout,
    WorktreeSetupRequest,
};
use ralph_store::TaskRow;

/// How many trees are made or changed at the same time.
const MAX_CONCURRENT_GIT_CALLS: usize = 2;

pub(super) struct TaskWorktrees {
    project: Project,
    site: WorktreeLayout,
    worktrees: RefCell<BTreeMap<String, TaskWorktree>>,
    /// Calls of git at the same time, which would wait for each other's locks.
    git_permits: Semaphore,
}

impl TaskWorktrees {
    pub(super) fn new(project: &Project) -> AppResult<Self> {
        Ok(Self {
            project: project.clone(),
            site: WorktreeLayout::for_project(project)?,
            worktrees: RefCell::default(),
            git_permits: Semaphore::new(MAX_CONCURRENT_GIT_CALLS),
        })
    }

    /// Makes the tree of a task, or opens it, and returns the project with the tree as its root.
    pub(super) async fn open_task_worktree(&self, row: &TaskRow) -> AppResult<Project> {
        let (task, after) = (row.task.id.clone(), row.task.dependencies().to_vec());
        let made = self.run_git_blocking(move |site| worktree::open_or_create(site, &task, &after)).await?;
        let root = made.worktree.path.clone();
        self.worktrees.borrow_mut().insert(row.task.id.clone(), made.worktree);
        Ok(Project { root, home: self.project.home.clone() })
    }

    /// Returns the run id of the setup commands of a task. It names the project: other projects have tasks of the same id.
    pub(super) fn setup_run_id(&self, row: &TaskRow) -> String {
        format!("setup-{}-{}", self.site.project_key(), row.task.id)
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
        let is_ours = context.lease_check();
        let with = WorktreeSetupRequest {
            keeper: context.keeper,
            commands,
            env: std::env::vars_os().collect(),
            run_id: &run_id,
            log_folder: self.project.state_folder().join("setup").join(&row.task.id),
        };
        Ok(worktree::run_setup_commands(&tree, with, context.commands, is_ours).await?)
    }

    /// Reads where the work of a task stands.
    pub(super) async fn read_acceptance_base(&self, row: &TaskRow) -> AppResult<AcceptanceBase> {
        let tree = self.opened_worktree(row)?;
        self.run_git_blocking(move |site| worktree::read_acceptance_base(site, &tree)).await
    }

    /// Moves the branch of a task to what was accepted.
    pub(super) async fn accept_work(&self, row: &TaskRow, done: AcceptedStage) -> AppResult<()> {
        let tree = self.opened_worktree(row)?;
        let AcceptedStage { position_before: from, stage, verified_tree: verified } = done;
        let accept =
            move |site: &WorktreeLayout| worktree::accept_work(site, &tree, &from, stage.as_str(), verified.as_deref());
        self.run_git_blocking(accept).await.map(drop)
    }

    fn opened_worktree(&self, row: &TaskRow) -> AppResult<TaskWorktree> {
        let open = self.worktrees.borrow().get(&row.task.id).cloned();
        open.ok_or_else(|| AppError::from_message(ErrorKind::Internal, format!("{} has no work tree", row.task.id)))
    }

    /// Returns the accepted work that is not in the user's branch.
    pub(super) async fn list_unlanded(&self) -> AppResult<Vec<UnlandedWork>> {
        self.run_git_blocking(worktree::list_unlanded_work).await
    }

    /// Returns where a stage works, so that its attempts are kept.
    pub(super) fn assigned_worktree(&self, row: &TaskRow, stage: &Role) -> Option<AssignedWorktree> {
        let tree = self.worktrees.borrow().get(&row.task.id).cloned()?;
        Some(AssignedWorktree {
            layout: self.site.clone(),
            worktree: tree,
            snapshot_stage: stage.as_str().to_owned(),
            setup_commands: Vec::new(),
        })
    }

    /// A judge looks at all that was done for the task.
    pub(super) fn with_task_base(&self, row: &TaskRow, judge: JudgeChoice) -> JudgeChoice {
        match self.worktrees.borrow().get(&row.task.id) {
            Some(tree) => JudgeChoice { base_commit: tree.base.clone(), ..judge },
            None => judge,
        }
    }

    /// Does something with git that may take a while; the other tasks go on meanwhile.
    async fn run_git_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WorktreeLayout) -> Result<T, WorktreeError> + Send + 'static,
    ) -> AppResult<T> {
        let site = self.site.clone();
        let _turn = self.git_permits.acquire().await;
        let done = tokio::task::spawn_blocking(move || work(&site)).await;
        Ok(done.map_err(|error| AppError::internal(&error))??)
    }
}
