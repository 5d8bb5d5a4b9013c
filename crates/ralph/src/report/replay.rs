//! Shows a run from outside, as its own terminal would: facts from the journal, the agent's words from its log.
use std::path::PathBuf;

use ralph_core::event::{AttemptKey, Millis};
use ralph_core::fact::Fact;

use super::live_log::LiveLog;
use crate::agent::parser;
use crate::engine::{AgentChoice, Stamp, Watcher, log_name};
use crate::store::EventRow;

/// Passes a stored run on to a report.
pub struct Replay<W> {
    run: String,
    folder: PathBuf,
    /// How the output of its agents is read, the one at work first; unknown where another ralph wrote the settings.
    agents: Vec<AgentChoice>,
    watcher: W,
    live: Option<LiveLog>,
    /// What ended before anybody looked is told by its facts alone.
    is_past: bool,
}

impl<W: Watcher> Replay<W> {
    #[must_use]
    pub fn new(run: &str, folder: PathBuf, agents: Vec<AgentChoice>, watcher: W) -> Self {
        Self { run: run.to_owned(), folder, agents, watcher, live: None, is_past: true }
    }

    /// Shows the next facts.
    pub fn facts(&mut self, rows: &[EventRow]) {
        rows.iter().for_each(|row| self.row(row));
    }

    /// Shows what the agent has said since.
    pub fn catch_up(&mut self) {
        self.is_past = false;
        if let Some(live) = &mut self.live {
            live.catch_up(&mut self.watcher);
        }
    }

    /// Facts that only a newer ralph knows are passed over.
    fn row(&mut self, row: &EventRow) {
        let Ok(fact) = serde_json::from_str::<Fact>(&row.body) else { return };
        if let Fact::AttemptEnded { .. } = fact {
            self.attempt_ended();
        }
        self.watcher.fact(Stamp { run: &self.run, seq: row.seq, at: Millis(row.at) }, &fact);
        if let Fact::AgentChanged { agent, .. } = &fact {
            let named = self.agents.iter().position(|known| known.name == *agent);
            named.into_iter().for_each(|at| self.agents.swap(0, at));
        }
        if let Fact::AttemptStarted { iteration, attempt } = fact {
            self.live = self.log_of(AttemptKey { iteration, attempt });
        }
    }

    fn attempt_ended(&mut self) {
        if let Some(live) = self.live.take().filter(|_| !self.is_past) {
            live.finish(&mut self.watcher);
        }
    }

    fn log_of(&self, key: AttemptKey) -> Option<LiveLog> {
        let agent = self.agents.first()?;
        let path = self.folder.join(format!("{}.ndjson", log_name(key)));
        Some(LiveLog::new(path, parser(agent.format())))
    }
}
