//! Inputs and outputs of one attempt.
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

/// Everything that the listener of one attempt reads from and writes to.
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
    /// The file to which the agent writes its usage, if it does so.
    pub usage_file: Option<PathBuf>,
    pub messages: mpsc::UnboundedSender<DriverMessage>,
    pub display_updates: mpsc::Sender<DisplayUpdate>,
}

impl AttemptIo {
    /// Removes the usage file of an earlier attempt. If that fails, no usage is read.
    pub(in crate::run_driver) fn clear_stale_usage_file(&mut self) {
        let Some(path) = &self.usage_file else { return };
        if let Err(error) = usage_file::remove_stale(path) {
            let text = format!("cannot use the usage file {}: {error}", path.display());
            let _ = self.messages.send(DriverMessage::Warning(text));
            self.usage_file = None;
        }
    }
}

/// The session that the agent is started with.
#[derive(Debug, Clone)]
pub struct SessionRequest {
    pub session_mode: SessionSupport,
    /// The session to resume.
    pub resume_id: Option<String>,
    /// The id for a new session.
    pub new_id: Option<String>,
}

impl SessionRequest {
    /// Returns the session id to assume if the agent did not report one.
    pub(in crate::run_driver) fn into_assumed_id(self) -> Option<String> {
        match self.session_mode {
            SessionSupport::CallerAssignedId => self.resume_id.or(self.new_id),
            SessionSupport::AgentAssignedId | SessionSupport::Unsupported => None,
        }
    }
}
