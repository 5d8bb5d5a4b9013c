//! Shows a run from outside, as its own terminal would: facts from the journal, the agent's words from its log.
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::event::{AttemptKey, Millis};
use ralph_core::fact::{Fact, NextStep};

use super::live_log::LiveLog;
use ralph_agents::parser;
use ralph_engine::engine::{AgentChoice, Clock, Stamp, Watcher, log_name};
use ralph_store::EventRow;

/// A wait for a rate limit that somebody follows.
struct Waiting {
    until: Millis,
    /// The seconds that were told last.
    told: Option<u64>,
}

impl Waiting {
    fn new(until: Millis) -> Self {
        Self { until, told: None }
    }

    /// Returns what is left, once for every second.
    fn next_second(&mut self, now: Millis) -> Option<Duration> {
        let left = self.until.since(now).div_ceil(1_000);
        let is_new = self.told.replace(left) != Some(left);
        is_new.then(|| Duration::from_secs(left))
    }
}

/// Passes a stored run on to a report.
pub struct Replay<W> {
    run: String,
    folder: PathBuf,
    /// How the output of its agents is read, the one at work first; unknown where another ralph wrote the settings.
    agents: Vec<AgentChoice>,
    watcher: W,
    live: Option<LiveLog>,
    /// The wait for a rate limit, while there is one.
    wait: Option<Waiting>,
    /// When the last one was to end.
    waits_until: Millis,
    /// What ended before anybody looked is told by its facts alone.
    is_past: bool,
}

impl<W: Watcher> Replay<W> {
    #[must_use]
    pub fn new(run: &str, folder: PathBuf, agents: Vec<AgentChoice>, watcher: W) -> Self {
        Self {
            run: run.to_owned(),
            folder,
            agents,
            watcher,
            live: None,
            wait: None,
            waits_until: Millis(0),
            is_past: true,
        }
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
        if let Some(left) = self.wait.as_mut().and_then(|wait| wait.next_second(Clock::wall())) {
            self.watcher.waiting(left);
        }
    }

    /// Facts that only a newer ralph knows are passed over.
    fn row(&mut self, row: &EventRow) {
        let Ok(fact) = serde_json::from_str::<Fact>(&row.body) else { return };
        if let Fact::AttemptEnded { .. } = fact {
            self.attempt_ended();
        }
        self.note_wait(&fact, Millis(row.at));
        self.watcher.fact(Stamp { run: &self.run, seq: row.seq, at: Millis(row.at) }, &fact);
        if let Fact::AgentChanged { agent, .. } = &fact {
            let named = self.agents.iter().position(|known| known.name == *agent);
            named.into_iter().for_each(|at| self.agents.swap(0, at));
        }
        if let Fact::AttemptStarted { iteration, attempt } = fact {
            self.live = self.log_of(AttemptKey { iteration, attempt });
        }
    }

    /// A wait ends when the agent starts or the run is left, and goes on when that is resumed.
    fn note_wait(&mut self, fact: &Fact, at: Millis) {
        if let Fact::LimitWaiting { delay_ms, .. } = fact {
            self.waits_until = at.plus(*delay_ms);
            self.wait = Some(Waiting::new(self.waits_until));
        }
        if let Fact::RunResumed { next: NextStep::Limit, .. } = fact {
            self.wait = Some(Waiting::new(self.waits_until));
        }
        if let Fact::AttemptStarted { .. } | Fact::RunFinished { .. } = fact {
            self.wait = None;
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
