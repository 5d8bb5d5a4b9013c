//! What the worker does not know itself: where work trees come from, how a stage is planned, who is told.
use ralph_core::event::StopSignal;
use ralph_core::pipeline::{StageFailure, StageReport, TaskProgress};
use ralph_core::task::{Role, TaskStatus};

use super::worktree_setup::SetupContext;
use crate::project::Project;
use crate::run_driver::{EngineError, RunObserver, RunPlan, SuspendRequest};
use ralph_process::Keeper;
use ralph_store::{RunRow, Store, StoreError, StoredRun, TaskRow};

/// Something that people and programs hear of the work on a task.
#[derive(Debug)]
pub enum TaskEvent<'a> {
    /// The worker has taken it.
    Leased { task: &'a str, stage: &'a Role, attempt: u32 },
    /// A stage of it begins, or is gone on with, as this run.
    StageStarted { task: &'a str, stage: &'a Role, run: &'a str },
    /// A stage has ended so, and another is next.
    StageAdvanced { task: &'a str, ended: &'a StageReport, stage: &'a Role },
    /// It leaves the pipeline.
    Finished { task: &'a str, status: TaskStatus, reason: &'a str, failure: Option<&'a StageFailure> },
    /// It was stopped, and can go on.
    Interrupted { task: &'a str, stage: &'a Role },
    /// Another worker has it now.
    LeaseLost { task: &'a str },
    /// It could not begin, and is left as it is.
    Deferred { task: &'a str, reason: &'a str },
    /// Nothing is ready; the worker waits.
    Idle,
    /// Others write to the store all the time; the worker waits for them.
    StoreBusy,
    /// The money for all of it is used up: no other stage begins.
    BudgetExhausted { spent_micros: u64, limit_micros: u64 },
    /// So many tasks failed one after the other: no more are taken.
    TooManyFailures { failures: u32, reason: &'a str },
}

/// What a stage has done that was accepted.
#[derive(Debug)]
pub struct AcceptedStage<S> {
    /// Where the work stood before.
    pub position_before: S,
    pub stage: Role,
    /// The tree of the files that were verified, where that is known.
    pub verified_tree: Option<String>,
}

#[expect(async_fn_in_trait, reason = "everything runs in one thread")]
pub trait TaskServices {
    type Error: From<EngineError> + From<StoreError>;
    /// Where the work of a task stands.
    type WorkPosition;

    /// Refuses a task of which one of these stages could not begin, before anything is made for it or spent on it.
    fn check_stages_can_start(&self, row: &TaskRow, ahead: &[Role]) -> Result<(), Self::Error>;

    /// Returns what is wrong and how to mend it, as one text.
    fn describe_error(trouble: &Self::Error) -> String;

    /// Makes the work tree of a task fit for work, or finds it so. The project returned has it as its root.
    async fn prepare_worktree(&self, row: &TaskRow, context: SetupContext) -> Result<Project, Self::Error>;

    /// Reads where the work of a task stands.
    async fn read_work_position(&self, row: &TaskRow) -> Result<Self::WorkPosition, Self::Error>;

    /// Keeps what a stage has done. If the work does not stand where it stood, somebody else has the task, and nothing is
    /// kept.
    async fn accept_stage(&self, row: &TaskRow, done: AcceptedStage<Self::WorkPosition>) -> Result<(), Self::Error>;

    /// The task is done. What becomes of its work then is told, and changes nothing about that.
    async fn land_finished_task(&self, row: &TaskRow, store: &Store, keeper: &Keeper);

    /// Catches up on what became of no task's work, because its worker died or was stopped: the named tasks', or everybody's.
    async fn catch_up_landings(&self, named: &[String], store: &Store, keeper: &Keeper);

    /// Plans a stage that begins.
    fn plan_new_stage(&self, row: &TaskRow, progress: &TaskProgress, tree: &Project) -> Result<RunPlan, Self::Error>;

    /// Plans a stage that goes on, and says what is not as it was.
    fn plan_resumed_stage(
        &self,
        run: &RunRow,
        stored: &StoredRun,
        tree: &Project,
    ) -> Result<(RunPlan, Vec<String>), Self::Error>;

    /// Returns who watches a stage.
    fn stage_observer(&self, plan: &RunPlan) -> Result<Box<dyn RunObserver>, Self::Error>;

    /// Tells whether somebody else drives a run at this moment, without having the task.
    fn is_run_driven(&self, run: &str) -> bool;

    /// Kills what the dead or stopped engine of a run has left running.
    fn kill_leftover_processes(&self, run: &str);

    /// The worker was told to stop: nothing more begins, and what is going on ends.
    fn stop_background_work(&self, signal: StopSignal);

    /// The process will stand still: what is going on beside the loops must do so, too.
    fn suspend_background_work(&self, halt: &SuspendRequest);

    fn report_event(&self, event: &TaskEvent<'_>);
}
