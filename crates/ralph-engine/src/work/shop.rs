//! What the worker does not know itself: where work trees come from, how a stage is planned, who is told.
use ralph_core::event::StopSignal;
use ralph_core::pipeline::{Progress, Said, StageFailure};
use ralph_core::task::{Role, Status};

use super::fit::Fitting;
use crate::engine::{EngineError, Halt, RunPlan, Watcher};
use crate::project::Project;
use ralph_process::Keeper;
use ralph_store::{RunRow, Store, StoreError, StoredRun, TaskRow};

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
    /// Others write to the store all the time; the worker waits for them.
    Busy,
    /// The money for all of it is used up: no other stage begins.
    Spent { spent: u64, limit: u64 },
    /// So many tasks failed one after the other: no more are taken.
    Braked { failed: u32, why: &'a str },
}

/// What a stage has done that was accepted.
#[derive(Debug)]
pub struct Done<S> {
    /// Where the work stood before.
    pub from: S,
    pub stage: Role,
    /// The tree of the files that were verified, where that is known.
    pub verified: Option<String>,
}

#[expect(async_fn_in_trait, reason = "everything runs in one thread")]
pub trait Workshop {
    type Trouble: From<EngineError> + From<StoreError>;
    /// Where the work of a task stands.
    type Standing;

    /// Refuses a task of which one of these stages could not begin, before anything is made for it or spent on it.
    fn refuse(&self, row: &TaskRow, ahead: &[Role]) -> Result<(), Self::Trouble>;

    /// Returns what is wrong and how to mend it, as one text.
    fn reason(trouble: &Self::Trouble) -> String;

    /// Makes the work tree of a task fit for work, or finds it so. The project returned has it as its root.
    async fn tree(&self, row: &TaskRow, with: Fitting) -> Result<Project, Self::Trouble>;

    /// Reads where the work of a task stands.
    async fn standing(&self, row: &TaskRow) -> Result<Self::Standing, Self::Trouble>;

    /// Keeps what a stage has done. If the work does not stand where it stood, somebody else has the task, and nothing is
    /// kept.
    async fn accept(&self, row: &TaskRow, done: Done<Self::Standing>) -> Result<(), Self::Trouble>;

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

    /// The worker was told to stop: nothing more begins, and what is going on ends.
    fn stop(&self, signal: StopSignal);

    /// The process will stand still: what is going on beside the loops must do so, too.
    fn halt(&self, halt: &Halt);

    fn tell(&self, news: &News<'_>);
}
