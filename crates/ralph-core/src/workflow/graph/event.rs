//! The events of a run of a graph.
use alloc::string::String;

use super::activity::{ActivityId, ActivityResult};
use super::person::PersonAnswer;

/// An input of [`super::advance`]. Events about an activity that has ended are ignored.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphEvent {
    /// The process drives the run from now on. The first event, also after [`super::GraphState::restore`].
    Started,
    ActivityEnded {
        activity: ActivityId,
        result: ActivityResult,
    },
    /// The child run of the activity waits for a person. It no longer runs, but has not ended.
    ChildParked {
        activity: ActivityId,
    },
    /// The child run runs again, because the person answered.
    ChildResumed {
        activity: ActivityId,
    },
    /// The timer of [`super::GraphEffect::StartTimer`] has expired.
    RetryDelayOver {
        activity: ActivityId,
    },
    PersonAnswered {
        activity: ActivityId,
        answer: PersonAnswer,
    },
    /// A person cancels the run.
    CancelRequested {
        reason: String,
    },
    /// The budget of the run, with all its children, is used up.
    BudgetExhausted {
        reason: String,
    },
    /// The process ends: running nodes are stopped, and run again when the run is resumed.
    InterruptRequested {
        reason: String,
    },
}
