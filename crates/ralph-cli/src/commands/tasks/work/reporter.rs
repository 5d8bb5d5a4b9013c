//! The report of `ralph work`: one line for each event, prefixed with its task.
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io::{self, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ralph_core::budget::format_dollars;
use ralph_core::pipeline::{StageOutcome, StageReport};
use ralph_core::receipt::Proof;
use ralph_core::task::{Role, TaskStatus};
use serde_json::{Value, json};

use super::prefixed_lines::PrefixedLineWriter;
use super::stage_activities::{ActivityObserver, StageActivities};
use crate::commands::args::output_args::OutputArgs;
use crate::commands::out;
use crate::commands::tasks::land_report::report_text;
use crate::hints;
use crate::report::{ColorMode, JsonReport, PlainReport, ReportDetail, TextStyle, ThreadedReporter};
use ralph_app::config::Settings;
use ralph_app::control::waits_for_decision;
use ralph_app::error::{AppError, AppResult};
use ralph_app::landing::LandResult;
use ralph_app::plan::{WorkCostLimit, work_cost_limit};
use ralph_app::view::{format_clock_time, pluralize, timestamp_json};
use ralph_app::work::{
    StopCondition, TaskEnd, TaskEvent, WaitReason, WaitingTask, WorkAssignment, WorkObserver, WorkStartPoint,
    WorkSummary,
};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, OutputVisibility, RunObserver, RunPlan};
use ralph_store::BUSY_MESSAGE;
use ralph_util::duration;

pub(super) struct WorkReporter {
    audience: OutputVisibility,
    colors: ColorMode,
    shown_warnings: Mutex<BTreeSet<String>>,
    activities: Arc<StageActivities>,
    starts: Mutex<WorkStarts>,
    has_progress_line: bool,
}

/// When the tasks, and their current stages, began.
#[derive(Default)]
struct WorkStarts {
    tasks: BTreeMap<String, Instant>,
    stages: BTreeMap<String, Instant>,
}

impl WorkReporter {
    pub(super) fn new(output: &OutputArgs, is_detached: bool) -> Self {
        let is_terminal = io::stderr().is_terminal() && !is_detached;
        Self {
            audience: output.audience(),
            colors: if is_detached { ColorMode::Plain } else { ColorMode::for_stream(&io::stderr()) },
            shown_warnings: Mutex::default(),
            activities: Arc::new(StageActivities::new()),
            starts: Mutex::default(),
            has_progress_line: is_terminal && output.audience() == OutputVisibility::Shown,
        }
    }

    /// Shows for ever what the stages do.
    pub(super) async fn show_activity(&self) -> Infallible {
        match self.audience {
            OutputVisibility::Hidden => std::future::pending().await,
            OutputVisibility::Shown if self.has_progress_line => {
                let _line = self.activities.show_progress_line();
                self.activities.refresh_progress_line().await
            }
            OutputVisibility::Shown => self.activities.print_reminders().await,
        }
    }

    /// Records the begin of a task or stage.
    fn track_start(&self, event: &TaskEvent<'_>) {
        let mut starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            TaskEvent::Leased { task, .. } => drop(starts.tasks.insert((*task).to_owned(), Instant::now())),
            TaskEvent::StageStarted { task, .. } => drop(starts.stages.insert((*task).to_owned(), Instant::now())),
            _ => {}
        }
    }

    /// Returns how long a task took: ` after 3m`.
    fn task_time(&self, task: &str) -> String {
        describe_time(self.starts.lock().unwrap_or_else(PoisonError::into_inner).tasks.get(task))
    }

    /// Returns how long the current stage of a task took: ` after 3m`.
    fn stage_time(&self, task: &str) -> String {
        describe_time(self.starts.lock().unwrap_or_else(PoisonError::into_inner).stages.get(task))
    }

    /// Prints the cost limits, then the stages, slots and stop condition.
    pub(super) fn print_introduction(&self, assignment: &WorkAssignment, settings: &Settings) {
        let cost_limits = describe_cost_limit(&work_cost_limit(assignment.max_cost_micros, settings));
        let stages: Vec<&str> = assignment.pipeline.stages().iter().map(Role::as_str).collect();
        let until = match (assignment.stop_condition, assignment.named_tasks.len()) {
            (StopCondition::WhenIdle, _) => "until nothing is ready",
            (StopCondition::OnSignal, 0) => "until Ctrl-C",
            (StopCondition::OnSignal, 1) => "until this task has ended",
            (StopCondition::OnSignal, _) => "until these tasks have ended",
        };
        if self.audience == OutputVisibility::Hidden {
            if assignment.max_cost_micros.is_none() {
                self.print_json(&json!({"event": "warning", "message": cost_limits}));
            }
            return;
        }
        out::print_note(&cost_limits);
        out::print_note(&format!(
            "{} · {} · {} at a time · {until}",
            self.colors.style_text(TextStyle::Bold, "ralph work"),
            stages.join(" → "),
            pluralize(i64::try_from(assignment.slots).unwrap_or(i64::MAX), "task"),
        ));
    }

    /// Prints from which commit the tasks start, if files of the user are not included.
    pub(super) fn print_start_point(&self, start: &WorkStartPoint) {
        if start.uncommitted_files == 0 {
            return;
        }
        let short = start.commit.get(..12).unwrap_or(&start.commit);
        let files = pluralize(i64::try_from(start.uncommitted_files).unwrap_or(i64::MAX), "uncommitted file");
        let verb = if start.uncommitted_files == 1 { "is" } else { "are" };
        let text = format!("work starts from commit {short}; {files} {verb} not included");
        match self.audience {
            OutputVisibility::Hidden => self.print_json(&json!({"event": "warning", "message": text})),
            OutputVisibility::Shown => out::print_note(&self.colors.style_text(TextStyle::Warning, &text)),
        }
    }

    fn print_json(&self, value: &Value) {
        out::print_line(&value.to_string());
    }

    fn print_event_line(&self, event: &TaskEvent<'_>) {
        let (tone, text) = match event {
            // The lines of a stage start with its name.
            TaskEvent::StageStarted { .. } => return,
            TaskEvent::Leased { task, stage, attempt: 1 } => (TextStyle::Bold, format!("{task}  {stage} started")),
            TaskEvent::Leased { task, stage, attempt } => {
                (TextStyle::Bold, format!("{task}  {stage} started, attempt {attempt}"))
            }
            TaskEvent::StageAdvanced { task, ended, stage } => {
                next_stage_line(task, ended, stage, &self.stage_time(task))
            }
            TaskEvent::Finished { task, status: TaskStatus::Done, reason, proof, .. } => {
                let proof = proof.map(|proof| format!(" ({proof})")).unwrap_or_default();
                (TextStyle::Good, format!("{task}  done{proof}{}: {reason}", self.task_time(task)))
            }
            TaskEvent::Finished { task, status, reason, .. } => {
                (TextStyle::Bad, format!("{task}  {}{}: {reason}", status.as_str(), self.task_time(task)))
            }
            TaskEvent::Interrupted { task, stage } => {
                (TextStyle::Bad, format!("{task}  stopped in {stage}; `ralph work` resumes it"))
            }
            TaskEvent::Parked { task, stage, until } => {
                let until = format_clock_time(*until, Clock::wall_now());
                (TextStyle::Warning, format!("{task}  {stage} is parked until {until}; its slot is free"))
            }
            TaskEvent::LeaseLost { task } => (TextStyle::Bad, format!("{task}  taken over by another worker")),
            TaskEvent::Deferred { task, reason } => (TextStyle::Bad, format!("{task}  skipped: {reason}")),
            TaskEvent::Idle => (TextStyle::Dim, "no task is ready; waiting for tasks (Ctrl-C stops)".to_owned()),
            TaskEvent::StoreBusy => (TextStyle::Warning, format!("warning: {BUSY_MESSAGE}")),
            TaskEvent::BudgetExhausted { spent_micros: spent, limit_micros: limit } => (
                TextStyle::Bad,
                format!("spent {} of {}: no more stages are started", format_dollars(*spent), format_dollars(*limit)),
            ),
            TaskEvent::TooManyFailures { failures, reason } => {
                (TextStyle::Bad, format!("{failures} tasks failed in a row, so no more are started: {reason}"))
            }
        };
        self.activities.print_note(&self.colors.style_text(tone, &text));
    }

    /// Prints the result of every task.
    pub(super) fn print_summary(&self, summary: &WorkSummary) {
        if self.audience == OutputVisibility::Hidden {
            let task_json = |(task, end): (&String, &TaskEnd)| json!({"id": task, "status": end_label(end)});
            let tasks: Vec<Value> = summary.task_ends.iter().map(task_json).collect();
            self.print_json(&json!({"event": "work.finished", "tasks": tasks}));
            return;
        }
        let is_done = |end: &&TaskEnd| matches!(end, TaskEnd::Finished { status: TaskStatus::Done, .. });
        let done = summary.task_ends.values().filter(is_done).count();
        out::print_message(&format!("\n{done} of {} done", pluralize(summary.task_ends.len() as i64, "task")));
        for (task, end) in summary.task_ends.iter().filter(|(_, end)| end_label(end) != "done") {
            out::print_message(&format!("{task}  {}: {}", end_label(end), end_reason(end)));
        }
    }

    /// Returns whether people read this output.
    pub(super) fn is_shown(&self) -> bool {
        self.audience == OutputVisibility::Shown
    }

    /// Prints what the waiting tasks wait for.
    pub(super) fn print_waiting_tasks(&self, waiting: &[WaitingTask]) {
        waiting.iter().for_each(|task| out::print_message(&describe_waiting_task(task)));
    }

    /// Prints how to decide on the claims of the blocked tasks.
    pub(super) async fn print_waiting_claims(&self, summary: &WorkSummary, project: &Project) -> AppResult<()> {
        let is_blocked = |end: &TaskEnd| matches!(end, TaskEnd::Finished { status: TaskStatus::Blocked, .. });
        for (task, _) in summary.task_ends.iter().filter(|(_, end)| is_blocked(end)) {
            if waits_for_decision(project, task).await? {
                out::print_message(&format!("{task}  decide: {}", hints::for_waiting_claim(task)));
            }
        }
        Ok(())
    }

    /// Prints how to merge the finished tasks.
    pub(super) fn print_landing_hint(&self, summary: &WorkSummary) {
        if self.audience == OutputVisibility::Shown {
            let done = summary.task_ends.iter().filter(|(_, end)| end_label(end) == "done");
            let done: Vec<&str> = done.map(|(task, _)| task.as_str()).collect();
            landing_hint(&done).iter().for_each(|line| out::print_note(line));
        }
    }
}

impl WorkObserver for WorkReporter {
    fn on_task_event(&self, event: &TaskEvent<'_>) {
        self.track_start(event);
        match self.audience {
            OutputVisibility::Hidden => self.print_json(&event_json(event)),
            OutputVisibility::Shown => self.print_event_line(event),
        }
    }

    fn on_landing(&self, task: &str, result: &AppResult<LandResult>) {
        let (event, text) = landing_message(task, result);
        match self.audience {
            OutputVisibility::Hidden => self.print_json(&json!({"event": event, "task": task, "message": text})),
            OutputVisibility::Shown => {
                text.lines().for_each(|line| self.activities.print_note(&format!("{task}  {line}")));
            }
        }
    }

    /// Prints each warning once, even if several tasks cause it.
    fn on_warning(&self, task: &str, text: &str) {
        if !self.shown_warnings.lock().unwrap_or_else(PoisonError::into_inner).insert(text.to_owned()) {
            return;
        }
        match self.audience {
            OutputVisibility::Hidden => self.print_json(&json!({"event": "warning", "task": task, "message": text})),
            OutputVisibility::Shown => self.activities.print_note(&format!("{task}  warning: {text}")),
        }
    }

    /// The lines of a stage start with the name of its task.
    fn stage_observer(&self, plan: &RunPlan) -> AppResult<Box<dyn RunObserver>> {
        let max_iterations = plan.spec.policy.max_iterations;
        let name = plan.spec.stage.as_ref().map_or_else(String::new, |stage| format!("{} {}", stage.task, stage.role));
        let colors = self.colors;
        let activities = Arc::clone(&self.activities);
        if self.audience == OutputVisibility::Shown {
            let agent = &plan.context.agent;
            self.activities.print_note(&format!("{name}  agent {} {}", agent.name, agent.describe_permissions()));
        }
        let report = match self.audience {
            OutputVisibility::Hidden => ThreadedReporter::start(|| JsonReport::new(out::TrackedStdout)),
            OutputVisibility::Shown => ThreadedReporter::start(move || {
                let lines = PrefixedLineWriter::new(name.clone(), Arc::clone(&activities));
                let report = PlainReport::line_based(lines, colors, ReportDetail::Milestones, max_iterations);
                ActivityObserver::new(report, name, activities, max_iterations)
            }),
        };
        Ok(Box::new(report.map_err(|error| AppError::internal(&error))?))
    }

    fn describe_error(&self, error: &AppError) -> String {
        let hints = hints::for_error(error).into_iter().map(|hint| format!("; {hint}"));
        std::iter::once(error.to_string()).chain(hints).collect()
    }
}

/// Returns the name of the JSON event, and the text for people.
fn landing_message(task: &str, result: &AppResult<LandResult>) -> (&'static str, String) {
    match result {
        Ok(LandResult::Landed(report)) => ("task.landed", report_text(report)),
        Ok(LandResult::ChecksFailed(report)) => ("task.not_landed", report_text(report)),
        Ok(LandResult::Stopped(_)) => {
            let text = format!("not landed: stopped; the next `ralph work` lands it, or ralph land {task}");
            ("task.not_landed", text)
        }
        Err(error) => {
            let causes = error.causes.join(", ");
            ("task.not_landed", format!("not landed: {} ({causes}); ralph land {task}", error.message))
        }
    }
}

/// The hint names at most this number of tasks, to keep the line short.
const MAX_NAMED_TASKS: usize = 5;

/// Returns the hint on how to merge the finished tasks, if there are any.
fn landing_hint(done: &[&str]) -> Option<String> {
    let named = if done.len() > MAX_NAMED_TASKS { "TASK…".to_owned() } else { done.join(" ") };
    let branches = "finished work is on separate branches";
    (!done.is_empty()).then(|| format!("{branches}: `ralph land {named}` verifies it again and merges it into yours"))
}

fn describe_cost_limit(limit: &WorkCostLimit) -> String {
    match limit {
        WorkCostLimit::Unlimited => "no cost limit (set one with --max-cost)".to_owned(),
        WorkCostLimit::AllTasks { max_cost_micros } => {
            format!("cost limit {} for all tasks together", format_dollars(*max_cost_micros))
        }
        WorkCostLimit::PerScope(limits) => {
            let limits =
                limits.iter().map(|limit| format!("{} per {}", format_dollars(limit.max_cost_micros), limit.scope));
            let limits: Vec<String> = limits.collect();
            format!("cost limit {}; no limit for all tasks together (--max-cost)", limits.join(", "))
        }
    }
}

/// Returns the time since a start, or nothing if it is not known.
fn describe_time(start: Option<&Instant>) -> String {
    start.map(|start| format!(" after {}", duration::format_rounded(start.elapsed()))).unwrap_or_default()
}

fn next_stage_line(task: &str, ended: &StageReport, stage: &Role, time: &str) -> (TextStyle, String) {
    let by = &ended.stage;
    match ended.how {
        StageOutcome::Accepted => (TextStyle::Good, format!("{task}  {by} accepted{time}; {stage} is next")),
        StageOutcome::SentBack => {
            (TextStyle::Warning, format!("{task}  {by} sends the work back to {stage}{time}: {}", ended.words))
        }
        StageOutcome::Failed => {
            (TextStyle::Bad, format!("{task}  {by} failed{time}; {stage} is next: {}", ended.words))
        }
    }
}

fn end_label(end: &TaskEnd) -> &'static str {
    match end {
        TaskEnd::Finished { status, .. } => status.as_str(),
        TaskEnd::Interrupted => "stopped",
        TaskEnd::Parked { .. } => "parked",
        TaskEnd::LeaseLost => "taken over",
        TaskEnd::Deferred { .. } => "left",
    }
}

fn end_reason(end: &TaskEnd) -> &str {
    match end {
        TaskEnd::Finished { reason, .. } | TaskEnd::Deferred { reason } => reason,
        TaskEnd::Interrupted | TaskEnd::Parked { .. } => "`ralph work` resumes it",
        TaskEnd::LeaseLost => "by another worker",
    }
}

fn describe_waiting_task(WaitingTask { task_id, waits_for }: &WaitingTask) -> String {
    match waits_for {
        WaitReason::Approval => format!("{task_id}  waits for approval: ralph task approve {task_id}"),
        WaitReason::Dependencies(tasks) => format!("{task_id}  waits for {}", tasks.join(", ")),
    }
}

fn event_json(event: &TaskEvent<'_>) -> Value {
    match event {
        TaskEvent::Leased { task, stage, attempt } => {
            json!({"event": "task.taken", "task": task, "stage": stage, "attempt": attempt})
        }
        TaskEvent::StageStarted { task, stage, run } => {
            json!({"event": "task.stage", "task": task, "stage": stage, "run": run})
        }
        TaskEvent::StageAdvanced { task, ended, stage } => json!({
            "event": "task.next", "task": task, "ended": ended.stage, "how": ended.how, "stage": stage
        }),
        TaskEvent::Finished { task, status, reason, failure, proof } => json!({
            "event": "task.over", "task": task, "status": status, "reason": reason, "ralph_failure": failure,
            "proof": proof.and_then(Proof::level_of_word)
        }),
        TaskEvent::Interrupted { task, stage } => {
            json!({"event": "task.stopped", "task": task, "stage": stage})
        }
        TaskEvent::Parked { task, stage, until } => {
            json!({"event": "task.parked", "task": task, "stage": stage, "until": timestamp_json(until.0)})
        }
        TaskEvent::LeaseLost { task } => json!({"event": "task.lost", "task": task}),
        TaskEvent::Deferred { task, reason } => {
            json!({"event": "task.left", "task": task, "reason": reason})
        }
        TaskEvent::Idle => json!({"event": "work.idle"}),
        TaskEvent::StoreBusy => json!({"event": "warning", "message": BUSY_MESSAGE}),
        TaskEvent::BudgetExhausted { spent_micros: spent, limit_micros: limit } => {
            json!({"event": "work.spent", "cost_usd": micros_to_usd(*spent), "max_cost_usd": micros_to_usd(*limit)})
        }
        TaskEvent::TooManyFailures { failures, reason } => {
            json!({"event": "work.braked", "failed": failures, "reason": reason})
        }
    }
}

fn micros_to_usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}
