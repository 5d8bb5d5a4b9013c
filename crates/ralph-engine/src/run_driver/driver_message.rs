//! Messages to the driver from the tasks that it started.
use ralph_core::attempt::{AttemptReport, ModelSpend};
use ralph_core::baseline::BaselineTrial;
use ralph_core::event::AttemptKey;
use ralph_core::evidence::Evidence;
use ralph_core::receipt::WorkTreeSnapshot;
use ralph_core::seal::SealingResult;

use ralph_agents::AgentEvent;

/// A message that the driver must handle. None is ever dropped.
#[derive(Debug)]
pub enum DriverMessage {
    ResultSeen(AttemptKey),
    OutputResumed(AttemptKey),
    Repeating(AttemptKey),
    RepeatingEnded(AttemptKey),
    HandshakeStarted(AttemptKey),
    HandshakeDone(AttemptKey),
    /// The agent has exhausted the budget; the spending is that of this attempt.
    Overspent(AttemptKey, ModelSpend),
    AttemptEnded(AttemptKey, Box<AttemptReport>),
    Prepared(SealingResult, Vec<BaselineTrial>),
    /// A snapshot of the work tree that is verified next, or the reason why there is none.
    SnapshotTaken(Result<WorkTreeSnapshot, String>),
    Verified(AttemptKey, Evidence),
    /// The task that ran this attempt or its checks panicked with this message.
    Panicked(AttemptKey, String),
    Warning(String),
}

/// An update for the screen. Dropped if the screen is too slow.
#[derive(Debug)]
pub enum DisplayUpdate {
    Events(Vec<AgentEvent>),
    Lines(Vec<String>),
}
