//! What a listener needs to listen to one start of an agent.
use std::path::PathBuf;

use ralph_core::claim::Finder;
use ralph_core::event::AttemptKey;
use tokio::sync::mpsc;

use super::allowance::Allowance;
use super::last_heard::LastHeard;
use super::news::{News, Shown};
use super::reader::{FilteredDisplay, Reader};
use super::usage_file;
use ralph_agents::{Agent, Format, Sessions};
use ralph_process::RawLog;

/// What a listener is made from.
pub struct Ears {
    pub key: AttemptKey,
    pub adapter: &'static dyn Agent,
    pub format: Format,
    pub reader: Reader,
    pub display: Option<FilteredDisplay>,
    pub finder: Finder,
    pub output: RawLog,
    pub errors: RawLog,
    pub heard: LastHeard,
    pub repeated: LastHeard,
    pub session: SessionAsked,
    pub allowance: Allowance,
    /// Where the agent leaves what it has used, if it does so.
    pub usage_file: Option<PathBuf>,
    pub news: mpsc::UnboundedSender<News>,
    pub shown: mpsc::Sender<Shown>,
}

impl Ears {
    /// Sees that nothing of an earlier start is read. Where that cannot be, nothing is.
    pub(super) fn make_ready(&mut self) {
        let Some(path) = &self.usage_file else { return };
        if let Err(error) = usage_file::clear(path) {
            let text = format!("{} is of no use: {error}", path.display());
            let _ = self.news.send(News::Warning(text));
            self.usage_file = None;
        }
    }
}

/// What the agent was told about its session.
#[derive(Debug, Clone)]
pub struct SessionAsked {
    pub sessions: Sessions,
    /// The one to resume.
    pub resumed: Option<String>,
    /// The id for a new one.
    pub chosen: Option<String>,
}

impl SessionAsked {
    /// Returns the session of an agent that did not name it itself.
    pub(super) fn untold(self) -> Option<String> {
        match self.sessions {
            Sessions::Chosen => self.resumed.or(self.chosen),
            Sessions::Named | Sessions::Fresh => None,
        }
    }
}
