//! Replays a run that another process drives to an observer: facts from the journal, the agent's output from its raw log.
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::event::{AttemptKey, UnixMillis};
use ralph_core::fact::{Fact, NextStep};

use super::live_log::{LiveLog, LogExtent};
use ralph_agents::parser_for_format;
use ralph_engine::run_driver::{AgentChoice, Clock, JournalPosition, RunObserver, attempt_log_name};
use ralph_store::EventRow;

/// The current wait for a rate limit.
struct ReplayedWait {
    until: UnixMillis,
    /// The remaining seconds that were reported last.
    last_reported_secs: Option<u64>,
}

impl ReplayedWait {
    fn new(until: UnixMillis) -> Self {
        Self { until, last_reported_secs: None }
    }

    /// Returns the remaining time, once for every second.
    fn next_remaining(&mut self, now: UnixMillis) -> Option<Duration> {
        let left = self.until.elapsed_since(now).div_ceil(1_000);
        let is_new = self.last_reported_secs.replace(left) != Some(left);
        is_new.then(|| Duration::from_secs(left))
    }
}

/// Which part of a run is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayScope {
    /// All facts, and the output of the agent from now on.
    FromNow,
    /// All facts with all output, of one iteration or of all.
    Complete { iteration: Option<u32> },
}

impl ReplayScope {
    fn includes_iteration(self, iteration: u32) -> bool {
        match self {
            Self::FromNow | Self::Complete { iteration: None } => true,
            Self::Complete { iteration: Some(only) } => only == iteration,
        }
    }
}

/// Forwards the facts and the agent's output of a stored run to an observer.
pub(super) struct RunReplay<'a> {
    run: String,
    folder: PathBuf,
    /// The agents of the run, the current one first. Empty if another version of ralph wrote the settings.
    agents: Vec<AgentChoice>,
    observer: &'a mut dyn RunObserver,
    live_log: Option<LiveLog>,
    /// The wait for a rate limit, if there is one.
    rate_limit_wait: Option<ReplayedWait>,
    /// The planned end of the last wait.
    wait_end: UnixMillis,
    /// Attempts that ended before the replay caught up are shown by their facts only.
    is_replaying_past: bool,
    scope: ReplayScope,
    /// The current iteration; 0 before the first.
    iteration: u32,
}

/// The run that is replayed.
pub(super) struct ReplaySource {
    pub(super) run: String,
    pub(super) folder: PathBuf,
    pub(super) agents: Vec<AgentChoice>,
}

impl<'a> RunReplay<'a> {
    pub(super) fn new(source: ReplaySource, scope: ReplayScope, observer: &'a mut dyn RunObserver) -> Self {
        let ReplaySource { run, folder, agents } = source;
        Self {
            run,
            folder,
            agents,
            observer,
            scope,
            iteration: 0,
            live_log: None,
            rate_limit_wait: None,
            wait_end: UnixMillis(0),
            is_replaying_past: true,
        }
    }

    /// Forwards the next facts.
    pub(super) fn show_facts(&mut self, rows: &[EventRow]) {
        rows.iter().for_each(|row| self.show_row(row));
    }

    /// Forwards the agent's output since the last call, and the remaining time of a wait.
    pub(super) fn catch_up(&mut self) {
        self.is_replaying_past = false;
        if let Some(live) = self.live_log.as_mut().filter(|_| self.scope.includes_iteration(self.iteration)) {
            live.catch_up(self.observer);
            self.observer.on_quiet();
        }
        if let Some(left) = self.rate_limit_wait.as_mut().and_then(|wait| wait.next_remaining(Clock::wall_now())) {
            self.observer.on_limit_wait(left);
        }
    }

    /// Forwards a fact. Facts of a newer version of ralph are skipped.
    fn show_row(&mut self, row: &EventRow) {
        let Ok(fact) = serde_json::from_str::<Fact>(&row.body) else { return };
        if let Fact::AttemptEnded { .. } = fact {
            self.finish_attempt();
        }
        self.track_wait(&fact, UnixMillis(row.at));
        if let Fact::IterationStarted { iteration } = fact {
            self.iteration = iteration;
        }
        if self.scope.includes_iteration(self.iteration) {
            self.observer.on_fact(JournalPosition { run: &self.run, seq: row.seq, at: UnixMillis(row.at) }, &fact);
        }
        if let Fact::AgentChanged { agent, .. } = &fact {
            let named = self.agents.iter().position(|known| known.name == *agent);
            named.into_iter().for_each(|at| self.agents.swap(0, at));
        }
        if let Fact::AttemptStarted { iteration, attempt } = fact {
            self.live_log = self.open_live_log(AttemptKey { iteration, attempt });
        }
    }

    /// A wait ends when an attempt starts or the run ends, and continues when the run is resumed.
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
        let is_shown = match self.scope {
            ReplayScope::FromNow => !self.is_replaying_past,
            ReplayScope::Complete { .. } => self.scope.includes_iteration(self.iteration),
        };
        if let Some(live) = self.live_log.take().filter(|_| is_shown) {
            live.finish(self.observer);
        }
    }

    fn open_live_log(&self, key: AttemptKey) -> Option<LiveLog> {
        let agent = self.agents.first()?;
        let path = self.folder.join(format!("{}.ndjson", attempt_log_name(key)));
        let extent = match self.scope {
            ReplayScope::FromNow => LogExtent::Tail,
            ReplayScope::Complete { .. } => LogExtent::Complete,
        };
        Some(LiveLog::new(path, parser_for_format(agent.output_format()), extent))
    }
}
