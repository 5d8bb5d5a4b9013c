//! The events that a worker reports, and the observer that receives them.
use ralph_core::event::UnixMillis;
use ralph_core::pipeline::{StageFailure, StageReport};
use ralph_core::task::{Role, TaskStatus};
use ralph_engine::run_driver::{RunObserver, RunPlan};

use crate::error::{AppError, AppResult};
use crate::landing::LandResult;

/// Something that happened to a task or to the worker.
#[derive(Debug)]
pub enum TaskEvent<'a> {
    /// The worker has leased the task.
    Leased { task: &'a str, stage: &'a Role, attempt: u32 },
    /// A stage starts or resumes as this run.
    StageStarted { task: &'a str, stage: &'a Role, run: &'a str },
    /// A stage has ended, and `stage` is next.
    StageAdvanced { task: &'a str, ended: &'a StageReport, stage: &'a Role },
    /// The task leaves the pipeline.
    Finished {
        task: &'a str,
        status: TaskStatus,
        reason: &'a str,
        failure: Option<&'a StageFailure>,
        /// The best proof level of its accepted stages: `proven`, `checked`, `judged` or `unverified`.
        proof: Option<&'a str>,
    },
    /// The task was stopped and can be resumed.
    Interrupted { task: &'a str, stage: &'a Role },
    /// The stage waits until this time and needs no slot meanwhile.
    Parked { task: &'a str, stage: &'a Role, until: UnixMillis },
    /// Another worker has the task now.
    LeaseLost { task: &'a str },
    /// The task could not start, and is left unchanged.
    Deferred { task: &'a str, reason: &'a str },
    /// No task is ready; the worker waits.
    Idle,
    /// Other processes keep the database busy; the worker waits for them.
    StoreBusy,
    /// The budget for all tasks is spent: no other stage starts.
    BudgetExhausted { spent_micros: u64, limit_micros: u64 },
    /// Several tasks failed in a row: no more are leased.
    TooManyFailures { failures: u32, reason: &'a str },
}

/// A screen that shows the work of a worker.
pub trait WorkObserver: Send + Sync {
    fn on_task_event(&self, event: &TaskEvent<'_>);

    /// A landing of a finished task has ended.
    fn on_landing(&self, task: &str, result: &AppResult<LandResult>);

    /// A warning about a task. The same warning may come for several tasks.
    fn on_warning(&self, task: &str, text: &str);

    /// Returns the observer of a stage that starts.
    fn stage_observer(&self, plan: &RunPlan) -> AppResult<Box<dyn RunObserver>>;

    /// Returns an error with its advice as one line of text.
    fn describe_error(&self, error: &AppError) -> String;
}
