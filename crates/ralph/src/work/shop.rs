//! What the worker does not know itself: where work trees come from, how a stage is planned, who is told.
use ralph_core::pipeline::{Progress, Said, StageFailure};
use ralph_core::task::{Role, Status};

use super::fit::Fitting;
use crate::engine::{EngineError, RunPlan, Watcher};
use crate::process::Keeper;
use crate::project::Project;
use crate::store::{RunRow, Store, StoreError, StoredRun, TaskRow};

/// Something that people and programs hear of the work on a task.
#[derive(Debug)]
pub enum News<'a> {
    /// The worker has taken it.
    Taken { task: &'a str, stage: &'a Role, attempt: u32 },
    /// A stage of it begins, or is gone on with, as this run.
    Stage { task: &'a str, stage: &'a Role, run: &'a str },
    /// A stage has ended so, and another is next.
    Next { task: &'a str, ended: &'a Said, stage: &'a Role },
    /// It leaves the pipeline.
    Over { task: &'a str, status: Status, why: &'a str, failure: Option<&'a StageFailure> },
    /// It was stopped, and can go on.
    Left { task: &'a str, stage: &'a Role },
    /// Another worker has it now.
    Lost { task: &'a str },
    /// It could not begin, and is left as it is.
    Aside { task: &'a str, why: &'a str },
    /// Nothing is ready; the worker waits.
    Idle,
    /// The money for all of it is used up: no other stage begins.
    Spent { spent: u64, limit: u64 },
    /// So many tasks failed one after the other: no more are taken.
    Braked { failed: u32, why: &'a str },
}

#[expect(async_fn_in_trait, reason = "everything runs in one thread")]
pub trait Workshop {
    type Trouble: From<EngineError> + From<StoreError> + std::fmt::Display;
    /// Where the work of a task stands.
    type Standing;

    /// Refuses a task whose stage could not begin, before anything is made for it.
    fn refuse(&self, row: &TaskRow, progress: &Progress) -> Result<(), Self::Trouble>;

    /// Makes the work tree of a task fit for work, or finds it so. The project returned has it as its root.
    async fn tree(&self, row: &TaskRow, with: Fitting) -> Result<Project, Self::Trouble>;

    /// Reads where the work of a task stands.
    async fn standing(&self, row: &TaskRow) -> Result<Self::Standing, Self::Trouble>;

    /// Keeps what a stage has done that was accepted: the files that were verified, where that is known. If the work does
    /// not stand where it stood, somebody else has the task, and nothing is kept.
    async fn accept(
        &self,
        row: &TaskRow,
        from: Self::Standing,
        stage: &Role,
        verified: Option<&str>,
    ) -> Result<(), Self::Trouble>;

    /// The task is done. What becomes of its work then is told, and changes nothing about that.
    async fn deliver(&self, row: &TaskRow, store: &Store, keeper: &Keeper);

    /// Catches up on what became of no task's work, because its worker died or was stopped: the named tasks', or everybody's.
    async fn catch_up(&self, named: &[String], store: &Store, keeper: &Keeper);

    /// Plans a stage that begins.
    fn plan(&self, row: &TaskRow, progress: &Progress, tree: &Project) -> Result<RunPlan, Self::Trouble>;

    /// Plans a stage that goes on, and says what is not as it was.
    fn plan_again(
        &self,
        run: &RunRow,
        stored: &StoredRun,
        tree: &Project,
    ) -> Result<(RunPlan, Vec<String>), Self::Trouble>;

    /// Returns who watches a stage.
    fn watcher(&self, plan: &RunPlan) -> Result<Box<dyn Watcher>, Self::Trouble>;

    /// Tells whether somebody else drives a run at this moment, without having the task.
    fn is_driven(&self, run: &str) -> bool;

    /// Kills what the dead or stopped engine of a run has left running.
    fn sweep(&self, run: &str);

    /// The worker was told to stop: nothing more begins.
    fn stop(&self);

    fn tell(&self, news: &News<'_>);
}
