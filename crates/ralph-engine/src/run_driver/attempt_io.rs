//! What a listener needs to listen to one start of an agent.
use std::path::PathBuf;

use ralph_core::claim::ClaimFinder;
use ralph_core::event::AttemptKey;
use tokio::sync::mpsc;

use super::activity_clock::ActivityClock;
use super::attempt_output::{AttemptOutputReader, FilteredDisplay};
use super::driver_message::{DisplayUpdate, DriverMessage};
use super::remaining_budget::RemainingBudget;
use super::usage_file;
use ralph_agents::{Agent, OutputFormat, SessionSupport};
use ralph_process::RawLog;

/// What a listener is made from.
pub struct AttemptIo {
    pub key: AttemptKey,
    pub adapter: &'static dyn Agent,
    pub format: OutputFormat,
    pub reader: AttemptOutputReader,
    pub display: Option<FilteredDisplay>,
    pub claim_finder: ClaimFinder,
    pub stdout_log: RawLog,
    pub stderr_log: RawLog,
    pub activity: ActivityClock,
    pub retry_activity: ActivityClock,
    pub session_request: SessionRequest,
    pub remaining_budget: RemainingBudget,
    /// Where the agent leaves what it has used, if it does so.
    pub usage_file: Option<PathBuf>,
    pub messages: mpsc::UnboundedSender<DriverMessage>,
    pub display_updates: mpsc::Sender<DisplayUpdate>,
}

impl AttemptIo {
    /// Sees that nothing of an earlier start is read. Where that cannot be, nothing is.
    pub(super) fn clear_stale_usage_file(&mut self) {
        let Some(path) = &self.usage_file else { return };
        if let Err(error) = usage_file::remove_stale(path) {
            let text = format!("{} is of no use: {error}", path.display());
            let _ = self.messages.send(DriverMessage::Warning(text));
            self.usage_file = None;
        }
    }
}

/// What the agent was told about its session.
#[derive(Debug, Clone)]
pub struct SessionRequest {
    pub session_mode: SessionSupport,
    /// The one to resume.
    pub resume_id: Option<String>,
    /// The id for a new one.
    pub new_id: Option<String>,
}

impl SessionRequest {
    /// Returns the session of an agent that did not name it itself.
    pub(super) fn into_assumed_id(self) -> Option<String> {
        match self.session_mode {
            SessionSupport::CallerAssignedId => self.resume_id.or(self.new_id),
            SessionSupport::AgentAssignedId | SessionSupport::Unsupported => None,
        }
    }
}
