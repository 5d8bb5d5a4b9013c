//! The caller that asks for a change of a session's loop.
use ralph_engine::session_driver::LoopFile;

use crate::error::{AppError, AppResult};
use crate::run::is_started_by_session;

/// The caller that asks to start or cancel the loop of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopCaller {
    /// The program of the session: the person typed a slash command.
    SessionProgram,
    /// A command, which an agent may have started.
    Command,
}

impl LoopCaller {
    /// Refuses an agent that would end an active loop. `action` completes the sentence "an agent cannot …".
    pub(super) fn refuse_agent(self, active: &LoopFile, action: &str) -> AppResult<()> {
        if self == Self::SessionProgram || !is_started_by_session(active) {
            return Ok(());
        }
        Err(AppError::preflight(format!("an agent cannot {action}"))
            .with_cause("the loop is active, and an agent started this command")
            .with_advice("type /ralph or /cancel-ralph into the session, or use a terminal outside of it")
            .with_advice("if you typed it into the session, install the plugin of this ralph again"))
    }
}
