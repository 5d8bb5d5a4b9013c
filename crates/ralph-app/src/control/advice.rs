//! What a person can do about a failed use case of control.
use crate::advice::Advice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlAdvice {
    /// A worker holds the task: wait for it, or cancel its work.
    WaitForWorker { task: String },
    /// Wait until the run of this task or run has ended, or cancel it.
    WaitOrCancel { id: String },
}

impl From<ControlAdvice> for Advice {
    fn from(advice: ControlAdvice) -> Self {
        Self::Control(advice)
    }
}
