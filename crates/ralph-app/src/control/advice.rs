//! Advice for a person whose control command failed.
use crate::advice::Advice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlAdvice {
    /// Show the loops that are running.
    ShowStatus,
    /// List loops, tasks and runs.
    ListTargets,
    /// A worker holds the task: wait for it, or cancel its work.
    WaitForWorker { task: String },
    /// Wait until the run of this task or run has ended, or cancel it.
    WaitOrCancel { id: String },
    /// Cancel the run of this task or run first.
    CancelFirst { id: String },
    /// Kill the ralph that drives the loop, which cancels the run.
    KillDriver,
    /// Kill the worker; the next one resumes its tasks.
    KillWorker,
    /// Follow the worker as text: it does not print JSON.
    FollowWorkerAsText,
    /// Describe further work in another task.
    DescribeNextWork,
    /// Create a task that follows this one.
    CreateFollowup { task: String },
    /// Make the task ready again.
    RetryTask { task: String },
    /// Answer the question of the agent of this task or run.
    AnswerQuestion { id: String, is_task: bool },
    /// Accept or reject the claim of this task or run.
    DecideClaim { id: String },
    /// Reject the claim: its files cannot be accepted.
    RejectInstead { id: String },
    /// The loop of this task or run is running: its limits and its guidance can be changed there.
    ChangeRunningLoop { id: String },
    /// No loop is running: this task or run can be resumed with other limits.
    ResumeWithLimits { id: String },
    /// Raise the limit that the run has reached.
    RaiseLimit,
    /// A run is resumed, not retried.
    ResumeRunInstead,
}

impl From<ControlAdvice> for Advice {
    fn from(advice: ControlAdvice) -> Self {
        Self::Control(advice)
    }
}
