//! Messages to the driver from the tasks that it started.
use ralph_core::event::{AgentActivity, AttemptKey, WorkEvent};

use ralph_agents::AgentEvent;

/// A message that the driver must handle. None is ever dropped.
#[derive(Debug)]
pub enum DriverMessage {
    /// The activity of the running agent of this attempt.
    Activity(AttemptKey, AgentActivity),
    /// The preparation, an attempt or its checks have ended.
    Work(WorkEvent),
    Warning(String),
}

/// An update for the screen. Dropped if the screen is too slow.
#[derive(Debug)]
pub enum DisplayUpdate {
    Events(Vec<AgentEvent>),
    Lines(Vec<String>),
}
