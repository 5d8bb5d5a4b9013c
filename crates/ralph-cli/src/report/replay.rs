//! Shows a run from outside, as its own terminal would: facts from the journal, the agent's words from its log.
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::event::{AttemptKey, UnixMillis};
use ralph_core::fact::{Fact, NextStep};

use super::live_log::LiveLog;
use ralph_agents::parser_for_format;
use ralph_engine::run_driver::{AgentChoice, Clock, JournalPosition, RunObserver, attempt_log_name};
use ralph_store::EventRow;

/// A wait for a rate limit that somebody follows.
struct ReplayedWait {
    until: UnixMillis,
    /// The seconds that were told last.
    last_reported_secs: Option<u64>,
}

impl ReplayedWait {
    fn new(until: UnixMillis) -> Self {
        Self { until, last_reported_secs: None }
    }

    /// Returns what is left, once for every second.
    fn next_remaining(&mut self, now: UnixMillis) -> Option<Duration> {
        let left = self.until.elapsed_since(now).div_ceil(1_000);
        let is_new = self.last_reported_secs.replace(left) != Some(left);
        is_new.then(|| Duration::from_secs(left))
    }
}

/// Passes a stored run on to a report.
pub struct RunReplay<W> {
    run: String,
    folder: PathBuf,
    /// How the output of its agents is read, the one at work first; unknown where another ralph wrote the settings.
    agents: Vec<AgentChoice>,
    watcher: W,
    live_log: Option<LiveLog>,
    /// The wait for a rate limit, while there is one.
    rate_limit_wait: Option<ReplayedWait>,
    /// When the last one was to end.
    wait_end: UnixMillis,
    /// What ended before anybody looked is told by its facts alone.
    is_replaying_past: bool,
}

impl<W: RunObserver> RunReplay<W> {
    #[must_use]
    pub fn new(run: &str, folder: PathBuf, agents: Vec<AgentChoice>, watcher: W) -> Self {
        Self {
            run: run.to_owned(),
            folder,
            agents,
            watcher,
            live_log: None,
            rate_limit_wait: None,
            wait_end: UnixMillis(0),
            is_replaying_past: true,
        }
    }

    /// Shows the next facts.
    pub fn show_facts(&mut self, rows: &[EventRow]) {
        rows.iter().for_each(|row| self.show_row(row));
    }

    /// Shows what the agent has said since.
    pub fn catch_up(&mut self) {
        self.is_replaying_past = false;
        if let Some(live) = &mut self.live_log {
            live.catch_up(&mut self.watcher);
        }
        if let Some(left) = self.rate_limit_wait.as_mut().and_then(|wait| wait.next_remaining(Clock::wall_now())) {
            self.watcher.on_limit_wait(left);
        }
    }

    /// Facts that only a newer ralph knows are passed over.
    fn show_row(&mut self, row: &EventRow) {
        let Ok(fact) = serde_json::from_str::<Fact>(&row.body) else { return };
        if let Fact::AttemptEnded { .. } = fact {
            self.finish_attempt();
        }
        self.track_wait(&fact, UnixMillis(row.at));
        self.watcher.on_fact(JournalPosition { run: &self.run, seq: row.seq, at: UnixMillis(row.at) }, &fact);
        if let Fact::AgentChanged { agent, .. } = &fact {
            let named = self.agents.iter().position(|known| known.name == *agent);
            named.into_iter().for_each(|at| self.agents.swap(0, at));
        }
        if let Fact::AttemptStarted { iteration, attempt } = fact {
            self.live_log = self.open_live_log(AttemptKey { iteration, attempt });
        }
    }

    /// A wait ends when the agent starts or the run is left, and goes on when that is resumed.
    fn track_wait(&mut self, fact: &Fact, at: UnixMillis) {
        if let Fact::LimitWaiting { delay_ms, .. } = fact {
            self.wait_end = at.add_millis(*delay_ms);
            self.rate_limit_wait = Some(ReplayedWait::new(self.wait_end));
        }
        if let Fact::RunResumed { next: NextStep::Limit, .. } = fact {
            self.rate_limit_wait = Some(ReplayedWait::new(self.wait_end));
        }
        if let Fact::AttemptStarted { .. } | Fact::RunFinished { .. } = fact {
            self.rate_limit_wait = None;
        }
    }

    fn finish_attempt(&mut self) {
        if let Some(live) = self.live_log.take().filter(|_| !self.is_replaying_past) {
            live.finish(&mut self.watcher);
        }
    }

    fn open_live_log(&self, key: AttemptKey) -> Option<LiveLog> {
        let agent = self.agents.first()?;
        let path = self.folder.join(format!("{}.ndjson", attempt_log_name(key)));
        Some(LiveLog::new(path, parser_for_format(agent.output_format())))
    }
}
