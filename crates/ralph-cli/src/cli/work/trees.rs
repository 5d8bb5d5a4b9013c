//! The work trees of the tasks at work.
use std::cell::RefCell;
use std::collections::BTreeMap;

use ralph_core::outcome::exit_code;
use ralph_core::task::Role;
use tokio::sync::Semaphore;

use crate::cli::resume::sweep;
use crate::error::Failure;
use ralph_engine::engine::JudgeChoice;
use ralph_engine::project::Project;
use ralph_engine::tree::{self, NotLanded, SetUp, Site, Standing, Tree, TreeError, Workplace};
use ralph_engine::work::{Done, Fitting};
use ralph_store::TaskRow;

/// How many trees are made or changed at the same time.
const TURNS: usize = 2;

pub(super) struct Trees {
    project: Project,
    site: Site,
    open: RefCell<BTreeMap<String, Tree>>,
    /// Calls of git at the same time, which would wait for each other's locks.
    turns: Semaphore,
}

impl Trees {
    pub(super) fn of(project: &Project) -> Result<Self, Failure> {
        Ok(Self {
            project: project.clone(),
            site: Site::of(project)?,
            open: RefCell::default(),
            turns: Semaphore::new(TURNS),
        })
    }

    /// Makes the tree of a task, or opens it, and returns the project with the tree as its root.
    pub(super) async fn of_task(&self, row: &TaskRow) -> Result<Project, Failure> {
        let (task, after) = (row.task.id.clone(), row.task.dependencies().to_vec());
        let made = self.apart(move |site| tree::make(site, &task, &after)).await?;
        let root = made.tree.path.clone();
        self.open.borrow_mut().insert(row.task.id.clone(), made.tree);
        Ok(Project { root, home: self.project.home.clone() })
    }

    /// Runs the user's commands in the tree of a task, unless they have run there.
    pub(super) async fn set_up(
        &self,
        row: &TaskRow,
        commands: &[String],
        fitting: Fitting,
    ) -> Result<(), Failure> {
        if commands.is_empty() {
            return Ok(());
        }
        let tree = self.opened(row)?;
        // Other projects have tasks of the same name.
        let run_id = format!("setup-{}-{}", self.site.key(), row.task.id);
        // A worker that died or sleeps may have begun it.
        sweep(&run_id);
        let is_ours = fitting.is_ours();
        let with = SetUp {
            keeper: fitting.keeper,
            commands,
            env: std::env::vars_os().collect(),
            run_id: &run_id,
            logs: self.project.state().join("setup").join(&row.task.id),
        };
        Ok(tree::set_up(&tree, with, fitting.orders, is_ours).await?)
    }

    /// Reads where the work of a task stands.
    pub(super) async fn standing(&self, row: &TaskRow) -> Result<Standing, Failure> {
        let tree = self.opened(row)?;
        self.apart(move |site| tree::standing(site, &tree)).await
    }

    /// Moves the branch of a task to what was accepted.
    pub(super) async fn accept(&self, row: &TaskRow, done: Done<Standing>) -> Result<(), Failure> {
        let tree = self.opened(row)?;
        let Done { from, stage, verified } = done;
        let accept = move |site: &Site| tree::accept(site, &tree, &from, stage.as_str(), verified.as_deref());
        self.apart(accept).await.map(drop)
    }

    fn opened(&self, row: &TaskRow) -> Result<Tree, Failure> {
        let open = self.open.borrow().get(&row.task.id).cloned();
        open.ok_or_else(|| Failure::plain(exit_code::INTERNAL, format!("{} has no work tree", row.task.id)))
    }

    /// Returns the accepted work that is not in the user's branch.
    pub(super) async fn not_landed(&self) -> Result<Vec<NotLanded>, Failure> {
        self.apart(tree::not_landed).await
    }

    /// Returns where a stage works, so that its attempts are kept.
    pub(super) fn workplace(&self, row: &TaskRow, stage: &Role) -> Option<Workplace> {
        let tree = self.open.borrow().get(&row.task.id).cloned()?;
        Some(Workplace { site: self.site.clone(), tree, stage: stage.as_str().to_owned(), setup: Vec::new() })
    }

    /// A judge looks at all that was done for the task.
    pub(super) fn judged(&self, row: &TaskRow, judge: JudgeChoice) -> JudgeChoice {
        match self.open.borrow().get(&row.task.id) {
            Some(tree) => JudgeChoice { base: tree.base.clone(), ..judge },
            None => judge,
        }
    }

    /// Does something with git that may take a while; the other tasks go on meanwhile.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Site) -> Result<T, TreeError> + Send + 'static,
    ) -> Result<T, Failure> {
        let site = self.site.clone();
        let _turn = self.turns.acquire().await;
        let done = tokio::task::spawn_blocking(move || work(&site)).await;
        Ok(done.map_err(|error| Failure::new(exit_code::INTERNAL, &error))??)
    }
}
