//! Renders an active loop: its position and its current activity.
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_core::loop_state::{LoopPhase, LoopState};
use serde_json::{Value, json};

use super::run_list::session_id_json;
use super::run_title::run_title;
use super::text_format::{format_clock_time, format_cost, micros_to_dollars, short_id};
use super::timestamp_json;
use ralph_engine::run_driver::Clock;
use ralph_store::{LoopRow, RunRow};
use ralph_util::sanitize::sanitize_text;

/// Whether a live ralph drives the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopLiveness {
    Driven,
    /// Its ralph died without recording an end.
    Died,
    /// No process drives it until this time.
    Parked(UnixMillis),
}

/// The action with which a person lets a loop continue. A screen says how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoopRemedy {
    /// Resume the run with this short id.
    ResumeRun { run: String },
    /// Start a worker: it resumes the stage.
    StartWorker,
    /// Follow or stop the worker with this id.
    FollowWorker { worker: String },
}

/// Describes a remedy for the reader.
pub type DescribeRemedy<'a> = &'a dyn Fn(&LoopRemedy) -> String;

/// A loop as `status` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopView {
    row: LoopRow,
    activity: LoopActivity,
    /// The loop will pause after its iteration.
    pause_requested: bool,
    /// The guidance that every prompt contains, as of the last prompt.
    standing_guidance: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum LoopActivity {
    Preparing,
    Working,
    /// Waits until this time before a retry.
    Retrying(UnixMillis),
    /// Waits until this time for a rate limit.
    Limited(UnixMillis),
    /// Waits until this time, because the agent asked for it.
    Waiting {
        until: UnixMillis,
        reason: String,
    },
    Verifying,
    Stopping,
    Paused,
    /// Waits until this time without a driver.
    Parked {
        until: UnixMillis,
        reason: String,
    },
    Died,
    /// A newer ralph wrote the state.
    Unknown,
}

/// The length to which guidance is cut in a list.
const MAX_GUIDANCE_CHARACTERS: usize = 50;

fn first_line(words: &str) -> String {
    let line = words.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(MAX_GUIDANCE_CHARACTERS).collect();
    if shown.len() < words.trim_end().len() { format!("{shown}…") } else { shown }
}

impl LoopView {
    #[must_use]
    pub fn new(row: LoopRow, liveness: LoopLiveness) -> Self {
        let state: Option<LoopState> = serde_json::from_str(&row.loop_json).ok();
        let pause_requested = state.as_ref().is_some_and(|state| state.pending_commands.pause);
        let standing_guidance = state.as_ref().map(|state| state.standing_guidance.clone()).unwrap_or_default();
        let activity = match liveness {
            LoopLiveness::Died => LoopActivity::Died,
            LoopLiveness::Parked(until) => {
                LoopActivity::Parked { until, reason: row.run.reason.clone().unwrap_or_default() }
            }
            LoopLiveness::Driven => state.map_or(LoopActivity::Unknown, |state| LoopActivity::from_phase(&state.phase)),
        };
        Self { row, activity, pause_requested, standing_guidance }
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.row.run.id
    }

    /// Returns the stored run.
    #[must_use]
    pub fn run(&self) -> &RunRow {
        &self.row.run
    }

    /// Returns the loop as it is stored.
    #[must_use]
    pub fn row(&self) -> &LoopRow {
        &self.row
    }

    /// Returns the `status` value for JSON.
    #[must_use]
    pub fn status_word(&self) -> &'static str {
        self.activity.status_word()
    }

    /// Returns what the loop waits for or does besides the work of its agent, in words: a rate limit says that it is not
    /// counted.
    #[must_use]
    pub fn wait_text(&self) -> Option<String> {
        let clock = |until: UnixMillis| format_clock_time(until, Clock::wall_now());
        let text = match &self.activity {
            LoopActivity::Working | LoopActivity::Unknown => return None,
            LoopActivity::Preparing => "prepares the run".to_owned(),
            LoopActivity::Retrying(until) => format!("retries at {}", clock(*until)),
            LoopActivity::Limited(until) => format!("rate limit until {}, not counted", clock(*until)),
            LoopActivity::Waiting { until, reason } => format!("waits until {}, not counted: {reason}", clock(*until)),
            LoopActivity::Verifying => "checks the claim".to_owned(),
            LoopActivity::Stopping => "is stopping".to_owned(),
            LoopActivity::Paused => "paused".to_owned(),
            LoopActivity::Parked { until, reason } => format!("parked until {}: {reason}", clock(*until)),
            LoopActivity::Died => "died: no process drives it".to_owned(),
        };
        Some(sanitize_text(&text))
    }

    /// Returns whether a loop works, waits or is paused with a process that drives it.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        !matches!(self.activity, LoopActivity::Parked { .. } | LoopActivity::Died)
    }

    /// Returns whether the loop pauses after its iteration.
    #[must_use]
    pub fn is_pause_requested(&self) -> bool {
        self.pause_requested
    }

    /// Returns the JSON object of `status --json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let run = &self.row.run;
        json!({
            "id": run.id,
            "status": self.activity.status_word(),
            "kind": run.kind,
            "task": run.task,
            "role": run.role,
            "session_id": session_id_json(run),
            "prompt": run_title(run),
            "iteration": run.iterations,
            "max_iterations": run.max_iterations,
            "started_at": timestamp_json(run.started_at),
            "wait_reason": self.activity.wait_reason(),
            "until": self.activity.waiting_until().map(|until| timestamp_json(until.0)),
            "pause_requested": self.pause_requested,
            "standing_guidance": self.standing_guidance,
            "agent": run.agent,
            "cost_usd": micros_to_dollars(run.cost_micros),
            "input_tokens": run.input_tokens,
            "output_tokens": run.output_tokens,
        })
    }

    /// Returns what the loop was asked to do.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        Some(run_title(&self.row.run)).filter(|title| !title.is_empty())
    }

    /// Returns the position: `TASK-001 (coder): iteration 3/15, started 5m ago`.
    #[must_use]
    pub fn to_line(&self, now: UnixMillis) -> String {
        let run = &self.row.run;
        let ago = format_age(now.elapsed_since(UnixMillis(run.started_at)));
        sanitize_text(&format!("{}, started {ago} ago", self.position_text()))
    }

    /// Returns the activity and the cost, if known.
    #[must_use]
    pub fn detail_line(&self, describe: DescribeRemedy<'_>) -> Option<String> {
        let cost = self.row.run.cost_micros.map(|micros| format_cost(Some(micros)));
        let parts: Vec<String> = self.activity_notes(describe).into_iter().chain(cost).collect();
        (!parts.is_empty()).then(|| sanitize_text(&parts.join(" · ")))
    }

    /// Returns position and activity in one line, without the elapsed time.
    #[must_use]
    pub fn line_without_elapsed_time(&self, describe: DescribeRemedy<'_>) -> String {
        let notes = self.activity_notes(describe).into_iter().map(|note| format!(", {note}"));
        sanitize_text(&format!("{}{}", self.position_text(), notes.collect::<String>()))
    }

    fn position_text(&self) -> String {
        let run = &self.row.run;
        let name = run.task.as_deref().unwrap_or_else(|| short_id(&run.id));
        let role = run.role.as_deref().unwrap_or(&run.kind);
        format!("{name} ({role}): iteration {}/{}", run.iterations.max(1), run.max_iterations)
    }

    fn remedy(&self) -> Option<LoopRemedy> {
        let resume = || LoopRemedy::ResumeRun { run: short_id(&self.row.run.id).to_owned() };
        match &self.activity {
            LoopActivity::Died | LoopActivity::Parked { .. } if is_stage_run(&self.row) => {
                Some(LoopRemedy::StartWorker)
            }
            LoopActivity::Died | LoopActivity::Paused | LoopActivity::Parked { .. } => Some(resume()),
            LoopActivity::Preparing
            | LoopActivity::Working
            | LoopActivity::Retrying(_)
            | LoopActivity::Limited(_)
            | LoopActivity::Waiting { .. }
            | LoopActivity::Verifying
            | LoopActivity::Stopping
            | LoopActivity::Unknown => None,
        }
    }

    fn activity_notes(&self, describe: DescribeRemedy<'_>) -> Vec<String> {
        let remedy = || self.remedy().map(|remedy| format!("; {}", describe(&remedy))).unwrap_or_default();
        let doing = match &self.activity {
            LoopActivity::Working | LoopActivity::Unknown => None,
            LoopActivity::Preparing => Some("prepares the run".to_owned()),
            LoopActivity::Retrying(until) => {
                Some(format!("retries at {}", format_clock_time(*until, Clock::wall_now())))
            }
            LoopActivity::Limited(until) => {
                Some(format!("waits for a rate limit until {}", format_clock_time(*until, Clock::wall_now())))
            }
            LoopActivity::Waiting { until, reason } => {
                Some(format!("waits until {}: {reason}", format_clock_time(*until, Clock::wall_now())))
            }
            LoopActivity::Verifying => Some("checks the claim".to_owned()),
            LoopActivity::Stopping => Some("is stopping".to_owned()),
            LoopActivity::Paused => Some(format!("paused{}", remedy())),
            LoopActivity::Parked { until, reason } => {
                Some(format!("until {}: {reason}{}", format_clock_time(*until, Clock::wall_now()), remedy()))
            }
            LoopActivity::Died => Some(format!("died{}", remedy())),
        };
        let pauses = self.pause_requested.then(|| "pauses after this iteration".to_owned());
        let guided = self.standing_guidance.last().map(|words| format!("always told: {}", first_line(words)));
        doing.into_iter().chain(pauses).chain(guided).collect()
    }
}

/// A leased task whose loop has not started yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSetup {
    pub task_id: String,
}

/// A worker in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerView {
    pub id: String,
    pub log: PathBuf,
    /// The process and its start; `None` if it died.
    pub process: Option<WorkerProcess>,
}

/// The process of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerProcess {
    pub pid: i32,
    pub since: UnixMillis,
}

impl WorkerView {
    fn to_json(&self) -> Value {
        json!({
            "id": self.id, "status": if self.process.is_some() { "running" } else { "died" }, "kind": "worker",
            "pid": self.process.as_ref().map(|process| process.pid),
            "started_at": self.process.as_ref().map(|process| timestamp_json(process.since.0)),
            "log": self.log,
        })
    }

    fn to_line(&self, now: UnixMillis) -> String {
        match &self.process {
            Some(process) => {
                format!("{} (background worker): started {} ago", self.id, format_age(now.elapsed_since(process.since)))
            }
            None => self.line_without_elapsed_time(),
        }
    }

    fn line_without_elapsed_time(&self) -> String {
        format!("{} (background worker){}", self.id, if self.process.is_some() { "" } else { ": died" })
    }

    fn remedy(&self) -> LoopRemedy {
        match self.process {
            Some(_) => LoopRemedy::FollowWorker { worker: self.id.clone() },
            None => LoopRemedy::StartWorker,
        }
    }
}

/// Active work: a loop, a task that is being set up, or a worker in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActiveWork {
    Loop(Box<LoopView>),
    SettingUp(TaskSetup),
    Worker(WorkerView),
}

impl ActiveWork {
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Loop(view) => view.id(),
            Self::SettingUp(task) => &task.task_id,
            Self::Worker(worker) => &worker.id,
        }
    }

    /// Returns the JSON object of `status --json`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Loop(view) => view.to_json(),
            Self::SettingUp(task) => json!({
                "id": task.task_id, "status": "setting_up", "kind": "stage", "task": task.task_id, "role": null,
                "session_id": null,
                "iteration": 0, "max_iterations": null, "started_at": null, "until": null, "wait_reason": null,
                "pause_requested": false, "standing_guidance": [], "agent": null, "cost_usd": null, "input_tokens": null,
                "output_tokens": null,
            }),
            Self::Worker(worker) => worker.to_json(),
        }
    }

    #[must_use]
    pub fn to_line(&self, now: UnixMillis) -> String {
        match self {
            Self::Loop(view) => view.to_line(now),
            Self::SettingUp(task) => sanitize_text(&format!("{}: setting up the work tree", task.task_id)),
            Self::Worker(worker) => worker.to_line(now),
        }
    }

    #[must_use]
    pub fn detail_line(&self, describe: DescribeRemedy<'_>) -> Option<String> {
        match self {
            Self::Loop(view) => view.detail_line(describe),
            Self::SettingUp(_) => None,
            Self::Worker(worker) => Some(describe(&worker.remedy())),
        }
    }

    /// Returns what the work was asked to do.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        match self {
            Self::Loop(view) => view.title(),
            Self::SettingUp(_) | Self::Worker(_) => None,
        }
    }

    #[must_use]
    pub fn line_without_elapsed_time(&self, describe: DescribeRemedy<'_>) -> String {
        match self {
            Self::Loop(view) => view.line_without_elapsed_time(describe),
            Self::SettingUp(_) => self.to_line(UnixMillis(0)),
            Self::Worker(worker) => worker.line_without_elapsed_time(),
        }
    }
}

impl LoopActivity {
    fn from_phase(phase: &LoopPhase) -> Self {
        match phase {
            LoopPhase::Ready | LoopPhase::Preparing { .. } => Self::Preparing,
            LoopPhase::Working { .. } => Self::Working,
            LoopPhase::Waiting { until, .. } => Self::Retrying(*until),
            LoopPhase::Limited { wait, .. } => match &wait.asked_because {
                Some(reason) => Self::Waiting { until: wait.until, reason: reason.clone() },
                None => Self::Limited(wait.until),
            },
            LoopPhase::Verifying { .. } => Self::Verifying,
            LoopPhase::PreparingStopped { .. } | LoopPhase::Stopping { .. } => Self::Stopping,
            LoopPhase::Paused { .. } => Self::Paused,
            // The run ended after its row was read.
            LoopPhase::Interrupted { .. } | LoopPhase::Finished { .. } => Self::Stopping,
        }
    }

    /// Returns the `status` value for JSON.
    fn status_word(&self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Working | Self::Unknown => "running",
            Self::Retrying(_) | Self::Waiting { .. } => "waiting",
            Self::Limited(_) => "rate_limited",
            Self::Verifying => "verifying",
            Self::Stopping => "stopping",
            Self::Paused => "paused",
            Self::Parked { .. } => "parked",
            Self::Died => "died",
        }
    }

    fn waiting_until(&self) -> Option<UnixMillis> {
        match self {
            Self::Retrying(until) | Self::Limited(until) => Some(*until),
            Self::Waiting { until, .. } | Self::Parked { until, .. } => Some(*until),
            Self::Preparing
            | Self::Working
            | Self::Verifying
            | Self::Stopping
            | Self::Paused
            | Self::Died
            | Self::Unknown => None,
        }
    }

    /// Returns why the agent asked for the wait.
    fn wait_reason(&self) -> Option<&str> {
        match self {
            Self::Waiting { reason, .. } | Self::Parked { reason, .. } => Some(reason),
            Self::Retrying(_)
            | Self::Limited(_)
            | Self::Preparing
            | Self::Working
            | Self::Verifying
            | Self::Stopping
            | Self::Paused
            | Self::Died
            | Self::Unknown => None,
        }
    }
}

fn is_stage_run(row: &LoopRow) -> bool {
    row.run.kind == "stage"
}

/// Returns an elapsed time in its largest unit: `5m`.
#[must_use]
pub fn format_age(ms: u64) -> String {
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
    fn elapsed_time_is_shown_in_its_largest_unit() {
        let shown = [0, 59_999, 60_000, 323_000, 3_600_000, 90_000_000].map(format_age);
        assert_eq!(shown, ["0s", "59s", "1m", "5m", "1h", "1d"]);
    }
}
