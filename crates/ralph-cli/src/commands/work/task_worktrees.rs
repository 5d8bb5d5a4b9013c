//! The work trees of the tasks at work.
use std::cell::RefCell;
use std::collections::BTreeMap;

use ralph_core::outcome::exit_code;
use ralph_core::task::Role;
use tokio::sync::Semaphore;

use crate::commands::resume::kill_leftover_processes;
use crate::error::CommandError;
use ralph_engine::project::Project;
use ralph_engine::run_driver::JudgeChoice;
use ralph_engine::scheduler::{AcceptedStage, SetupContext};
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
    pub(super) fn new(project: &Project) -> Result<Self, CommandError> {
        Ok(Self {
            project: project.clone(),
            site: WorktreeLayout::for_project(project)?,
            worktrees: RefCell::default(),
            git_permits: Semaphore::new(MAX_CONCURRENT_GIT_CALLS),
        })
    }

    /// Makes the tree of a task, or opens it, and returns the project with the tree as its root.
    pub(super) async fn open_task_worktree(&self, row: &TaskRow) -> Result<Project, CommandError> {
        let (task, after) = (row.task.id.clone(), row.task.dependencies().to_vec());
        let made = self.run_git_blocking(move |site| worktree::open_or_create(site, &task, &after)).await?;
        let root = made.worktree.path.clone();
        self.worktrees.borrow_mut().insert(row.task.id.clone(), made.worktree);
        Ok(Project { root, home: self.project.home.clone() })
    }

    /// Runs the user's commands in the tree of a task, unless they have run there.
    pub(super) async fn set_up_worktree(
        &self,
        row: &TaskRow,
        commands: &[String],
        context: SetupContext,
    ) -> Result<(), CommandError> {
        if commands.is_empty() {
            return Ok(());
        }
        let tree = self.opened_worktree(row)?;
        // Other projects have tasks of the same name.
        let run_id = format!("setup-{}-{}", self.site.project_key(), row.task.id);
        // A worker that died or sleeps may have begun it.
        kill_leftover_processes(&run_id);
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
    pub(super) async fn read_acceptance_base(&self, row: &TaskRow) -> Result<AcceptanceBase, CommandError> {
        let tree = self.opened_worktree(row)?;
        self.run_git_blocking(move |site| worktree::read_acceptance_base(site, &tree)).await
    }

    /// Moves the branch of a task to what was accepted.
    pub(super) async fn accept_work(
        &self,
        row: &TaskRow,
        done: AcceptedStage<AcceptanceBase>,
    ) -> Result<(), CommandError> {
        let tree = self.opened_worktree(row)?;
        let AcceptedStage { position_before: from, stage, verified_tree: verified } = done;
        let accept =
            move |site: &WorktreeLayout| worktree::accept_work(site, &tree, &from, stage.as_str(), verified.as_deref());
        self.run_git_blocking(accept).await.map(drop)
    }

    fn opened_worktree(&self, row: &TaskRow) -> Result<TaskWorktree, CommandError> {
        let open = self.worktrees.borrow().get(&row.task.id).cloned();
        open.ok_or_else(|| {
            CommandError::from_message(exit_code::INTERNAL_ERROR, format!("{} has no work tree", row.task.id))
        })
    }

    /// Returns the accepted work that is not in the user's branch.
    pub(super) async fn list_unlanded(&self) -> Result<Vec<UnlandedWork>, CommandError> {
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
    ) -> Result<T, CommandError> {
        let site = self.site.clone();
        let _turn = self.git_permits.acquire().await;
        let done = tokio::task::spawn_blocking(move || work(&site)).await;
        Ok(done.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))??)
    }
}
