//! What reaches the driver from the tasks that it started.
use ralph_core::attempt::{AttemptReport, Spend};
use ralph_core::baseline::Trial;
use ralph_core::event::AttemptKey;
use ralph_core::evidence::Evidence;
use ralph_core::receipt::Snapshot;
use ralph_core::seal::Sealing;

use ralph_agents::AgentEvent;

/// News that the rules must hear; none is ever dropped.
#[derive(Debug)]
pub enum News {
    ResultSeen(AttemptKey),
    SpokeAgain(AttemptKey),
    Repeating(AttemptKey),
    GotOn(AttemptKey),
    HandshakeBegan(AttemptKey),
    HandshakeDone(AttemptKey),
    /// The agent has used all that the run may use; this much in this attempt.
    Overspent(AttemptKey, Spend),
    AttemptEnded(AttemptKey, Box<AttemptReport>),
    Prepared(Sealing, Vec<Trial>),
    /// What the work tree holds that is verified next, or why nobody can tell.
    Looked(Result<Snapshot, String>),
    Verified(AttemptKey, Evidence),
    /// The task that watched this attempt, or its checks, panicked with these words.
    Faulted(AttemptKey, String),
    Warning(String),
}

/// What people may see; dropped when the screen cannot follow.
#[derive(Debug)]
pub enum Shown {
    Events(Vec<AgentEvent>),
    Lines(Vec<String>),
}
