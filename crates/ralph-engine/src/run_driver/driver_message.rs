//! What reaches the driver from the tasks that it started.
use ralph_core::attempt::{AttemptReport, ModelSpend};
use ralph_core::baseline::BaselineTrial;
use ralph_core::event::AttemptKey;
use ralph_core::evidence::Evidence;
use ralph_core::receipt::WorkTreeSnapshot;
use ralph_core::seal::SealingResult;

use ralph_agents::AgentEvent;

/// News that the rules must hear; none is ever dropped.
#[derive(Debug)]
pub enum DriverMessage {
    ResultSeen(AttemptKey),
    OutputResumed(AttemptKey),
    Repeating(AttemptKey),
    RepeatingEnded(AttemptKey),
    HandshakeStarted(AttemptKey),
    HandshakeDone(AttemptKey),
    /// The agent has used all that the run may use; this much in this attempt.
    Overspent(AttemptKey, ModelSpend),
    AttemptEnded(AttemptKey, Box<AttemptReport>),
    Prepared(SealingResult, Vec<BaselineTrial>),
    /// What the work tree holds that is verified next, or why nobody can tell.
    SnapshotTaken(Result<WorkTreeSnapshot, String>),
    Verified(AttemptKey, Evidence),
    /// The task that watched this attempt, or its checks, panicked with these words.
    Panicked(AttemptKey, String),
    Warning(String),
}

/// What people may see; dropped when the screen cannot follow.
#[derive(Debug)]
pub enum DisplayUpdate {
    Events(Vec<AgentEvent>),
    Lines(Vec<String>),
}
