//! One loop that is going on: where it is, and what it does right now.
use std::time::Duration;

use ralph_core::event::Millis;
use ralph_core::state::{Loop, Phase};
use serde_json::{Value, json};

use super::at_json;
use super::words::{dollars, money, short_id, when};
use ralph_store::LoopRow;
use ralph_util::sanitize::sanitize;

/// Whether anybody drives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    Driven,
    /// Its ralph ended without a word.
    Died,
}

/// A loop as `status` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopView {
    row: LoopRow,
    doing: Doing,
    /// It shall pause when its iteration is over.
    pauses: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Doing {
    Preparing,
    Working,
    /// The break before a retry, until then.
    Retrying(Millis),
    /// A rate limit, until then.
    Limited(Millis),
    Verifying,
    Stopping,
    Paused,
    Died,
    /// A newer ralph wrote it.
    Unknown,
}

impl LoopView {
    #[must_use]
    pub fn new(row: LoopRow, life: Life) -> Self {
        let state: Option<Loop> = serde_json::from_str(&row.state).ok();
        let pauses = state.as_ref().is_some_and(|state| state.wishes.pause);
        let doing = match life {
            Life::Died => Doing::Died,
            Life::Driven => state.map_or(Doing::Unknown, |state| Doing::of(&state.phase)),
        };
        Self { row, doing, pauses }
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.row.run.id
    }

    /// Returns the object of `status --json`.
    #[must_use]
    pub fn json(&self) -> Value {
        let run = &self.row.run;
        json!({
            "id": run.id,
            "status": self.doing.status(),
            "kind": run.kind,
            "task": run.task,
            "role": run.role,
            "iteration": run.iterations,
            "max_iterations": run.max_iterations,
            "started_at": at_json(run.started_at),
            "until": self.doing.until().map(|until| at_json(until.0)),
            "pause_requested": self.pauses,
            "agent": run.agent,
            "cost_usd": dollars(run.cost_micros),
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
        })
    }

    /// Returns the line that says where it is: `TASK-001 (coder): iteration 3/15, started 5m ago`.
    #[must_use]
    pub fn line(&self, now: Millis) -> String {
        let run = &self.row.run;
        let ago = ago(now.since(Millis(run.started_at)));
        sanitize(&format!("{}, started {ago} ago", self.place()))
    }

    /// Returns what it does, and what it has cost, where there is something to say.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        let cost = self.row.run.cost_micros.map(|micros| money(Some(micros)));
        let words: Vec<String> = self.words().into_iter().chain(cost).collect();
        (!words.is_empty()).then(|| sanitize(&words.join(" · ")))
    }

    /// Returns everything but the time that has passed, in one line.
    #[must_use]
    pub fn news(&self) -> String {
        let words = self.words().into_iter().map(|words| format!(", {words}"));
        sanitize(&format!("{}{}", self.place(), words.collect::<String>()))
    }

    fn place(&self) -> String {
        let run = &self.row.run;
        let name = run.task.as_deref().unwrap_or_else(|| short_id(&run.id));
        let role = run.role.as_deref().unwrap_or(&run.kind);
        format!("{name} ({role}): iteration {}/{}", run.iterations.max(1), run.max_iterations)
    }

    fn words(&self) -> Vec<String> {
        let short = short_id(&self.row.run.id);
        let doing = match &self.doing {
            Doing::Working | Doing::Unknown => None,
            Doing::Preparing => Some("prepares the run".to_owned()),
            Doing::Retrying(until) => Some(format!("tries again at {}", clock(*until))),
            Doing::Limited(until) => Some(format!("waits for a rate limit until {}", clock(*until))),
            Doing::Verifying => Some("checks the claim".to_owned()),
            Doing::Stopping => Some("is stopping".to_owned()),
            Doing::Paused => Some(format!("paused; ralph resume {short}")),
            Doing::Died if run_of_a_stage(&self.row) => Some("died; ralph work goes on with it".to_owned()),
            Doing::Died => Some(format!("died; ralph resume {short}")),
        };
        let pauses = self.pauses.then(|| "pauses after this iteration".to_owned());
        doing.into_iter().chain(pauses).collect()
    }
}

/// A task that a worker has, and no loop of which is going on yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingUp {
    pub task: String,
}

/// Something that is going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Active {
    Loop(Box<LoopView>),
    SettingUp(SettingUp),
}

impl Active {
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Loop(view) => view.id(),
            Self::SettingUp(task) => &task.task,
        }
    }

    /// Returns the object of `status --json`.
    #[must_use]
    pub fn json(&self) -> Value {
        match self {
            Self::Loop(view) => view.json(),
            Self::SettingUp(task) => json!({
                "id": task.task, "status": "setting_up", "kind": "stage", "task": task.task, "role": null,
                "iteration": 0, "max_iterations": null, "started_at": null, "until": null,
                "pause_requested": false, "agent": null, "cost_usd": null, "input_tokens": null,
                "output_tokens": null,
            }),
        }
    }

    #[must_use]
    pub fn line(&self, now: Millis) -> String {
        match self {
            Self::Loop(view) => view.line(now),
            Self::SettingUp(task) => sanitize(&format!("{}: its work tree is being set up", task.task)),
        }
    }

    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::Loop(view) => view.detail(),
            Self::SettingUp(_) => None,
        }
    }

    #[must_use]
    pub fn news(&self) -> String {
        match self {
            Self::Loop(view) => view.news(),
            Self::SettingUp(_) => self.line(Millis(0)),
        }
    }
}

impl Doing {
    fn of(phase: &Phase) -> Self {
        match phase {
            Phase::Ready | Phase::Preparing { .. } => Self::Preparing,
            Phase::Working { .. } => Self::Working,
            Phase::Waiting { until, .. } => Self::Retrying(*until),
            Phase::Limited { wait, .. } => Self::Limited(wait.until),
            Phase::Verifying { .. } => Self::Verifying,
            Phase::PreparingStopped { .. } | Phase::Stopping { .. } => Self::Stopping,
            Phase::Paused { .. } => Self::Paused,
            // What has ended is not going on; the row was read before that.
            Phase::Interrupted { .. } | Phase::Finished { .. } => Self::Stopping,
        }
    }

    /// Returns the word for programs.
    fn status(&self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Working | Self::Unknown => "running",
            Self::Retrying(_) => "waiting",
            Self::Limited(_) => "rate_limited",
            Self::Verifying => "verifying",
            Self::Stopping => "stopping",
            Self::Paused => "paused",
            Self::Died => "died",
        }
    }

    fn until(&self) -> Option<Millis> {
        match self {
            Self::Retrying(until) | Self::Limited(until) => Some(*until),
            Self::Preparing
            | Self::Working
            | Self::Verifying
            | Self::Stopping
            | Self::Paused
            | Self::Died
            | Self::Unknown => None,
        }
    }
}

fn run_of_a_stage(row: &LoopRow) -> bool {
    row.run.kind == "stage"
}

/// Returns the time of day, or the date too where it is not today's.
fn clock(at: Millis) -> String {
    let whole = when(at.0);
    whole.rsplit_once(' ').map_or(whole.clone(), |(_, time)| time.to_owned())
}

/// Returns a time that has passed in its largest unit: `5m`.
#[must_use]
pub fn ago(ms: u64) -> String {
    let seconds = Duration::from_millis(ms).as_secs();
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m", seconds / 60),
        3_600..=86_399 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U3
    #[test]
    fn a_time_that_has_passed_is_told_in_its_largest_unit() {
        let told = [0, 59_999, 60_000, 323_000, 3_600_000, 90_000_000].map(ago);
        assert_eq!(told, ["0s", "59s", "1m", "5m", "1h", "1d"]);
    }
}
