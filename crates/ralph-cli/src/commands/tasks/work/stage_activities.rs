//! The activity of the stages of a worker at the moment, and for how long: as a progress line on a terminal, else as a line from
//! time to time.
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use ralph_core::fact::Fact;

use crate::commands::out;
use crate::report::{build_progress_line, redact_event, truncate_line};
use ralph_agents::AgentEvent;
use ralph_engine::run_driver::{JournalPosition, RunObserver};
use ralph_util::duration;
use ralph_util::sanitize::sanitize_text;

/// How often the progress line is updated.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// How often the activity is printed without a progress line.
const REMINDER_INTERVAL: Duration = Duration::from_secs(300);
/// The width to which an activity is cut.
const ACTIVITY_COLUMNS: usize = 60;

/// The stages that this worker runs at the moment, by task and role.
pub(super) struct StageActivities {
    stages: Mutex<BTreeMap<String, StageActivity>>,
    progress: Mutex<Option<ProgressBar>>,
}

struct StageActivity {
    since: Instant,
    iteration: u32,
    max_iterations: u32,
    doing: String,
}

impl StageActivity {
    fn describe(&self, now: Instant) -> String {
        let elapsed = duration::format_rounded(now.saturating_duration_since(self.since));
        let doing = if self.doing.is_empty() { "" } else { ": " };
        format!("iteration {}/{} for {elapsed}{doing}{}", self.iteration.max(1), self.max_iterations, self.doing)
    }
}

impl StageActivities {
    pub(super) fn new() -> Self {
        Self { stages: Mutex::default(), progress: Mutex::new(None) }
    }

    fn lock_stages(&self) -> MutexGuard<'_, BTreeMap<String, StageActivity>> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_progress(&self) -> MutexGuard<'_, Option<ProgressBar>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a note above the progress line.
    pub(super) fn print_note(&self, text: &str) {
        match &*self.lock_progress() {
            Some(line) => line.suspend(|| out::print_note(text)),
            None => out::print_note(text),
        }
    }

    /// Returns one line for each stage.
    fn describe(&self, now: Instant) -> Vec<String> {
        self.lock_stages().iter().map(|(name, stage)| format!("{name}  {}", stage.describe(now))).collect()
    }

    /// Shows the progress line. It ends when the returned guard is dropped.
    pub(super) fn show_progress_line(self: &Arc<Self>) -> ProgressLine {
        *self.lock_progress() = Some(build_progress_line());
        ProgressLine(Arc::clone(self))
    }

    /// Updates the progress line for ever.
    pub(super) async fn refresh_progress_line(&self) -> Infallible {
        loop {
            let stages = self.describe(Instant::now()).join(" · ");
            if let Some(line) = &*self.lock_progress() {
                line.set_prefix("ralph work");
                line.set_message(if stages.is_empty() { String::new() } else { format!("· {stages}") });
            }
            tokio::time::sleep(REFRESH_INTERVAL).await;
        }
    }

    /// Prints the activity from time to time, for ever.
    pub(super) async fn print_reminders(&self) -> Infallible {
        loop {
            tokio::time::sleep(REMINDER_INTERVAL).await;
            self.describe(Instant::now()).iter().for_each(|line| out::print_note(line));
        }
    }
}

/// The progress line of a worker. It is cleared on drop.
pub(super) struct ProgressLine(Arc<StageActivities>);

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Some(line) = self.0.lock_progress().take() {
            line.finish_and_clear();
        }
    }
}

/// Records the activity of one stage, and forwards everything to its report.
pub(super) struct ActivityObserver<R> {
    report: R,
    name: String,
    activities: Arc<StageActivities>,
}

impl<R> ActivityObserver<R> {
    pub(super) fn new(report: R, name: String, activities: Arc<StageActivities>, max_iterations: u32) -> Self {
        let stage = StageActivity { since: Instant::now(), iteration: 0, max_iterations, doing: String::new() };
        activities.lock_stages().insert(name.clone(), stage);
        Self { report, name, activities }
    }

    fn update(&self, change: impl FnOnce(&mut StageActivity)) {
        if let Some(stage) = self.activities.lock_stages().get_mut(&self.name) {
            change(stage);
        }
    }

    fn set_activity(&self, doing: &str) {
        let doing = truncate_line(&sanitize_text(doing), ACTIVITY_COLUMNS);
        self.update(|stage| stage.doing = doing);
    }
}

impl<R> Drop for ActivityObserver<R> {
    fn drop(&mut self) {
        self.activities.lock_stages().remove(&self.name);
    }
}

impl<R: RunObserver> RunObserver for ActivityObserver<R> {
    fn on_fact(&mut self, position: JournalPosition<'_>, fact: &Fact) {
        match fact {
            Fact::IterationStarted { iteration } => self.update(|stage| {
                stage.iteration = *iteration;
                stage.doing.clear();
            }),
            Fact::RunResumed { iteration, .. } => self.update(|stage| stage.iteration = *iteration),
            Fact::Claim { claim, .. } if claim.claimed => self.set_activity("checks the claim"),
            Fact::RunPaused { .. } => self.set_activity("paused"),
            _ => {}
        }
        self.report.on_fact(position, fact);
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolCall { name, detail } = redact_event(event) {
            self.set_activity(&format!("{name} {detail}"));
        }
        self.report.on_agent_event(event);
    }

    fn on_display_line(&mut self, line: &str) {
        self.report.on_display_line(line);
    }

    fn on_stop_grace(&mut self, grace: Duration) {
        self.report.on_stop_grace(grace);
    }

    fn on_limit_wait(&mut self, left: Duration) {
        self.set_activity(&format!("waits for {}", duration::format_rounded(left)));
        self.report.on_limit_wait(left);
    }

    fn on_quiet(&mut self) {
        self.report.on_quiet();
    }

    fn on_warning(&mut self, text: &str) {
        self.report.on_warning(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{ColorMode, PlainReport, ReportDetail};

    // finding: N19
    #[test]
    fn the_activity_of_a_stage_has_its_iteration_its_time_and_its_last_tool() {
        let activities = Arc::new(StageActivities::new());
        let report = PlainReport::line_based(Vec::new(), ColorMode::Plain, ReportDetail::Milestones, 15);
        let name = "T-1 coder".to_owned();
        let mut observer = ActivityObserver::new(report, name, Arc::clone(&activities), 15);
        let position = JournalPosition { run: "r1", seq: 1, at: ralph_core::event::UnixMillis(0) };
        observer.on_fact(position, &Fact::IterationStarted { iteration: 2 });
        observer.on_agent_event(&AgentEvent::ToolCall { name: "Edit".to_owned(), detail: "src/lib.rs".to_owned() });
        let later = Instant::now() + Duration::from_secs(300);
        let described = activities.describe(later).join("\n");
        assert!(described.starts_with("T-1 coder  iteration 2/15 for 5m"), "{described}");
        assert!(described.ends_with("s: Edit src/lib.rs"), "{described}");
        drop(observer);
        assert_eq!(activities.describe(later), [""; 0]);
    }
}
