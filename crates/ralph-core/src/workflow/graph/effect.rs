//! The requests of the graph machine.
use alloc::string::String;

use super::activity::{Activity, ActivityId};
use super::compiled::NodeIndex;
use super::fact::GraphFact;
use super::outcome::GraphEnd;
use super::person::PersonQuestion;

/// A request to the executor.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphEffect {
    /// Stores the fact. All facts of an event are stored in one transaction, before the other effects are performed.
    Record(GraphFact),
    /// Starts the activity. Its end is reported by [`super::GraphEvent::ActivityEnded`].
    Start { activity: ActivityId, work: Activity },
    /// Stops the activity. It still reports its end.
    Stop { activity: ActivityId },
    /// Reports [`super::GraphEvent::RetryDelayOver`] after this time.
    StartTimer { activity: ActivityId, delay_ms: u64 },
    /// Shows the question. Restored runs ask open questions again, with the same activity.
    AskPerson { activity: ActivityId, question: PersonQuestion },
    /// The answer does not fit the question, which stays open.
    RefuseAnswer { activity: ActivityId, reason: String },
    /// Shows a message to the user.
    Announce(GraphNotice),
    /// Only a person can continue the run now: every activity waits for an answer.
    Park,
    /// The run has ended. The last effect.
    Finish(GraphEnd),
}

/// A message about the progress. [`crate::workflow::messages`] has the texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraphNotice {
    /// A node of a workflow with `steps` starts.
    Step { node: NodeIndex, number: u32, total: u32 },
    /// An iteration of a loop group starts.
    Iteration { node: NodeIndex, iteration: u32, max_iterations: u32 },
    /// A loop group has completed.
    LoopCompleted { node: NodeIndex, iterations: u32 },
    /// A loop group has failed during this iteration.
    LoopFailed { node: NodeIndex, iteration: u32, reason: String },
    /// A loop group has reached its limit.
    LoopIncomplete { node: NodeIndex, reason: String },
}
