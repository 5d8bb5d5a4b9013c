//! What a person can do about a failed use case of tasks.
use crate::advice::Advice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAdvice {
    /// Create a task, or import some.
    AddTasks,
    ListTasks,
}

impl From<TaskAdvice> for Advice {
    fn from(advice: TaskAdvice) -> Self {
        Self::Task(advice)
    }
}
