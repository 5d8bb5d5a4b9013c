//! The log of a run as JSON: what the agent said and did, with the facts of the journal between.
use std::time::Duration;

use ralph_agents::AgentEvent;
use ralph_app::control::{FollowUntil, ReaderStatus};
use ralph_app::error::AppResult;
use ralph_app::run::{FollowedRun, ReplayScope};
use ralph_core::fact::Fact;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{JournalPosition, RunObserver};
use serde_json::{Value, json};

/// A longer log is cut: the oldest entries are left out.
const MAX_LOG_BYTES: usize = 4 * 1024 * 1024;

/// Returns the log of a run, or of one iteration.
pub(crate) async fn load_log(project: &Project, id: &str, iteration: Option<u32>) -> AppResult<Value> {
    let run = FollowedRun::find_newest(project.clone(), Some(id)).await?;
    let mut collector = LogCollector::default();
    let scope = ReplayScope::Complete { iteration };
    run.replay_part(scope, FollowUntil::Now, &mut collector, || ReaderStatus::Reading).await?;
    let LogCollector { entries, omitted, .. } = collector;
    let entries: Vec<Value> = entries.into_iter().map(|entry| entry.value).collect();
    Ok(json!({ "run": run.row().id, "iteration": iteration, "omitted_entries": omitted, "entries": entries }))
}

/// Collects the newest entries.
#[derive(Default)]
struct LogCollector {
    entries: std::collections::VecDeque<LogEntry>,
    bytes: usize,
    omitted: usize,
}

struct LogEntry {
    value: Value,
    bytes: usize,
}

impl LogCollector {
    fn add(&mut self, value: Value) {
        let bytes = value.to_string().len();
        self.bytes += bytes;
        self.entries.push_back(LogEntry { value, bytes });
        while self.bytes > MAX_LOG_BYTES && self.entries.len() > 1 {
            let Some(oldest) = self.entries.pop_front() else { return };
            self.bytes -= oldest.bytes;
            self.omitted += 1;
        }
    }
}

impl RunObserver for LogCollector {
    fn on_fact(&mut self, position: JournalPosition<'_>, fact: &Fact) {
        self.add(json!({ "type": "journal", "seq": position.seq, "fact": fact }));
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        self.add(json!({ "type": "agent", "event": event }));
    }

    fn on_display_line(&mut self, line: &str) {
        self.add(json!({ "type": "line", "text": line }));
    }

    fn on_stop_grace(&mut self, _grace: Duration) {}

    fn on_limit_wait(&mut self, _left: Duration) {}

    fn on_warning(&mut self, text: &str) {
        self.add(json!({ "type": "warning", "text": text }));
    }
}
