//! Advice for a person whose task command failed.
use crate::advice::Advice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAdvice {
    /// Say when the task is done, or that the agent's claim is enough.
    GiveCriteria,
    /// Correct this field of the task.
    CorrectField { field: String, hint: String },
    /// Give at least one field that changes.
    ChangeField,
    /// Change the task instead of following it up.
    EditTask { task: String },
    /// Delete the task that depends on it too, or give it other dependencies.
    ReplaceDependencies { task: String },
    /// Land the work of the task, or leave it where it is.
    LandOrLeaveWork { task: String },
    /// Change the status of the task to `todo`, or create a follow-up.
    ReopenOrFollowUp { task: String },
    /// Finish the tasks that this one depends on, or remove the dependency.
    FinishDependencies,
    /// Change the status of the task to `todo`.
    ReopenTask { task: String },
}

impl From<TaskAdvice> for Advice {
    fn from(advice: TaskAdvice) -> Self {
        Self::Task(advice)
    }
}
