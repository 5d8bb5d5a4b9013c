//! How the work on many tasks is told: a line for each thing that happens, with the task that it happens to.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use ralph_core::budget::format_dollars;
use ralph_core::pipeline::{StageOutcome, StageReport};
use ralph_core::task::{Approval, Role, TaskStatus, unmet_dependencies};
use serde_json::{Value, json};

use crate::commands::land_report::report_text;
use crate::commands::out;
use crate::commands::output_args::OutputArgs;
use crate::error::CommandError;
use crate::hints;
use crate::report::{ColorMode, JsonReport, PlainReport, ReportDetail, TextStyle, ThreadedReporter};
use ralph_app::config::Settings;
use ralph_app::error::{AppError, AppResult};
use ralph_app::landing::LandResult;
use ralph_app::view::pluralize;
use ralph_app::work::{StopCondition, TaskEnd, TaskEvent, WorkAssignment, WorkObserver, WorkSummary};
use ralph_engine::run_driver::{OutputVisibility, RunObserver, RunPlan};
use ralph_store::{BUSY_MESSAGE, Store, TaskListItem};

pub(super) struct WorkReporter {
    audience: OutputVisibility,
    colors: ColorMode,
    shown_warnings: RefCell<BTreeSet<String>>,
}

impl WorkReporter {
    pub(super) fn new(output: &OutputArgs) -> Self {
        let colors = ColorMode::for_stream(&io::stderr());
        Self { audience: output.audience(), colors, shown_warnings: RefCell::default() }
    }

    /// Says what will be done, and first of all whether anything limits what it may cost.
    pub(super) fn print_introduction(&self, assignment: &WorkAssignment, settings: &Settings) {
        let capped = describe_cost_limits(assignment.max_cost_micros, settings);
        let stages: Vec<&str> = assignment.pipeline.stages().iter().map(Role::as_str).collect();
        let until = match assignment.stop_condition {
            StopCondition::WhenIdle => "until nothing is ready",
            StopCondition::OnSignal => "until Ctrl-C",
        };
        if self.audience == OutputVisibility::Hidden {
            if assignment.max_cost_micros.is_none() {
                self.print_json(&json!({"event": "warning", "message": capped}));
            }
            return;
        }
        out::print_note(&capped);
        out::print_note(&format!(
            "{} · {} · {} at a time · {until}",
            self.colors.style_text(TextStyle::Bold, "ralph work"),
            stages.join(" → "),
            pluralize(i64::try_from(assignment.slots).unwrap_or(i64::MAX), "task"),
        ));
    }

    fn print_json(&self, value: &Value) {
        out::print_line(&value.to_string());
    }

    fn print_event_line(&self, event: &TaskEvent<'_>) {
        let (tone, text) = match event {
            // What the stage does comes with its name.
            TaskEvent::StageStarted { .. } => return,
            TaskEvent::Leased { task, stage, attempt: 1 } => (TextStyle::Bold, format!("{task}  {stage} begins")),
            TaskEvent::Leased { task, stage, attempt } => {
                (TextStyle::Bold, format!("{task}  {stage} begins, attempt {attempt}"))
            }
            TaskEvent::StageAdvanced { task, ended, stage } => next_stage_line(task, ended, stage),
            TaskEvent::Finished { task, status: TaskStatus::Done, reason: why, .. } => {
                (TextStyle::Good, format!("{task}  done: {why}"))
            }
            TaskEvent::Finished { task, status, reason: why, .. } => {
                (TextStyle::Bad, format!("{task}  {}: {why}", status.as_str()))
            }
            TaskEvent::Interrupted { task, stage } => {
                (TextStyle::Bad, format!("{task}  stopped in {stage}; `ralph work` goes on with it"))
            }
            TaskEvent::LeaseLost { task } => (TextStyle::Bad, format!("{task}  another worker has it now")),
            TaskEvent::Deferred { task, reason: why } => (TextStyle::Bad, format!("{task}  left as it is: {why}")),
            TaskEvent::Idle => (TextStyle::Dim, "nothing is ready; waiting for tasks (Ctrl-C ends)".to_owned()),
            TaskEvent::StoreBusy => (TextStyle::Warning, format!("warning: {BUSY_MESSAGE}")),
            TaskEvent::BudgetExhausted { spent_micros: spent, limit_micros: limit } => (
                TextStyle::Bad,
                format!("{} of {} are spent: nothing more is begun", format_dollars(*spent), format_dollars(*limit)),
            ),
            TaskEvent::TooManyFailures { failures: failed, reason: why } => {
                (TextStyle::Bad, format!("{failed} tasks failed one after the other, so no more are taken: {why}"))
            }
        };
        out::print_note(&self.colors.style_text(tone, &text));
    }

    /// Says what became of everything, and what waits for whom.
    pub(super) async fn print_summary(&self, store: &Store, finish: &WorkSummary) -> Result<(), CommandError> {
        if self.audience == OutputVisibility::Hidden {
            let of = |(task, end): (&String, &TaskEnd)| json!({"id": task, "status": end_label(end)});
            let tasks: Vec<Value> = finish.task_ends.iter().map(of).collect();
            self.print_json(&json!({"event": "work.finished", "tasks": tasks}));
            return Ok(());
        }
        let count = |is: fn(&TaskEnd) -> bool| finish.task_ends.values().filter(|end| is(end)).count();
        let done = count(|end| matches!(end, TaskEnd::Finished { status: TaskStatus::Done, .. }));
        out::print_message(&format!("\n{done} of {} done", pluralize(finish.task_ends.len() as i64, "task")));
        for (task, end) in finish.task_ends.iter().filter(|(_, end)| end_label(end) != "done") {
            out::print_message(&format!("{task}  {}: {}", end_label(end), end_reason(end)));
        }
        let heads = store.list_tasks().await?;
        let statuses: BTreeMap<&str, TaskStatus> = heads.iter().map(|head| (head.id.as_str(), head.status)).collect();
        heads.iter().filter_map(|head| describe_waiting(head, &statuses)).for_each(|line| out::print_message(&line));
        Ok(())
    }

    /// Says what the user is left to do with what is done.
    pub(super) fn print_landing_hint(&self, finish: &WorkSummary) {
        if self.audience == OutputVisibility::Shown {
            let done = finish.task_ends.iter().filter(|(_, end)| end_label(end) == "done");
            let done: Vec<&str> = done.map(|(task, _)| task.as_str()).collect();
            landing_hint(&done).iter().for_each(|line| out::print_note(line));
        }
    }
}

impl WorkObserver for WorkReporter {
    fn on_task_event(&self, event: &TaskEvent<'_>) {
        match self.audience {
            OutputVisibility::Hidden => self.print_json(&event_json(event)),
            OutputVisibility::Shown => self.print_event_line(event),
        }
    }

    fn on_landing(&self, task: &str, result: &AppResult<LandResult>) {
        let (event, text) = landing_message(task, result);
        match self.audience {
            OutputVisibility::Hidden => self.print_json(&json!({"event": event, "task": task, "message": text})),
            OutputVisibility::Shown => text.lines().for_each(|line| out::print_note(&format!("{task}  {line}"))),
        }
    }

    /// The same warning for another task is not printed again.
    fn on_warning(&self, task: &str, text: &str) {
        if !self.shown_warnings.borrow_mut().insert(text.to_owned()) {
            return;
        }
        match self.audience {
            OutputVisibility::Hidden => self.print_json(&json!({"event": "warning", "task": task, "message": text})),
            OutputVisibility::Shown => out::print_note(&format!("{task}  warning: {text}")),
        }
    }

    /// The lines of a stage start with the name of its task.
    fn stage_observer(&self, plan: &RunPlan) -> AppResult<Box<dyn RunObserver>> {
        let max_iterations = plan.policy.max_iterations;
        let name = plan.stage.as_ref().map_or_else(String::new, |stage| format!("{} {}", stage.task, stage.role));
        let colors = self.colors;
        let report = match self.audience {
            OutputVisibility::Hidden => ThreadedReporter::start(|| JsonReport::new(out::TrackedStdout)),
            OutputVisibility::Shown => ThreadedReporter::start(move || {
                PlainReport::line_based(PrefixedLineWriter::new(name), colors, ReportDetail::Milestones, max_iterations)
            }),
        };
        Ok(Box::new(report.map_err(|error| AppError::internal(&error))?))
    }

    fn describe_error(&self, error: &AppError) -> String {
        let hints = hints::for_error(error).into_iter().map(|hint| format!("; {hint}"));
        std::iter::once(error.to_string()).chain(hints).collect()
    }
}

/// Returns the name of the event, and the text for people.
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

/// How many tasks are named, so that the line stays one that people read.
const MAX_NAMED_TASKS: usize = 5;

/// Says how what is done comes to whoever wanted it.
fn landing_hint(done: &[&str]) -> Option<String> {
    let named = if done.len() > MAX_NAMED_TASKS { "TASK…".to_owned() } else { done.join(" ") };
    let what = "what is done lies on branches of its own";
    (!done.is_empty()).then(|| format!("{what}: `ralph land {named}` verifies it again and merges it into yours"))
}

/// Says what limits the cost, and what does not.
fn describe_cost_limits(all: Option<u64>, settings: &Settings) -> String {
    if let Some(all) = all {
        return format!("all of it may cost {}", format_dollars(all));
    }
    let limits = &settings.limits;
    let each = [
        ("a stage", &limits.max_cost_usd),
        ("a task", &limits.task.max_cost_usd),
        ("a spec", &limits.spec.max_cost_usd),
    ];
    let known = each.iter().filter_map(|(what, limit)| Some((what, limit.value?)));
    let known: Vec<String> =
        known.map(|(what, money)| format!("{what} may cost {}", format_dollars(money.as_micros()))).collect();
    if known.is_empty() {
        return "nothing limits what this may cost (--max-cost)".to_owned();
    }
    format!("{}; nothing limits all of them together (--max-cost)", known.join(", "))
}

fn next_stage_line(task: &str, ended: &StageReport, stage: &Role) -> (TextStyle, String) {
    let by = &ended.stage;
    match ended.how {
        StageOutcome::Accepted => (TextStyle::Good, format!("{task}  {by} is accepted; {stage} is next")),
        StageOutcome::SentBack => {
            (TextStyle::Warning, format!("{task}  {by} sends the work back to {stage}: {}", ended.words))
        }
        StageOutcome::Failed => (TextStyle::Bad, format!("{task}  {by} failed; {stage} is next: {}", ended.words)),
    }
}

fn end_label(end: &TaskEnd) -> &'static str {
    match end {
        TaskEnd::Finished { status, .. } => status.as_str(),
        TaskEnd::Interrupted => "stopped",
        TaskEnd::LeaseLost => "taken over",
        TaskEnd::Deferred { .. } => "left",
    }
}

fn end_reason(end: &TaskEnd) -> &str {
    match end {
        TaskEnd::Finished { reason: why, .. } | TaskEnd::Deferred { reason: why } => why,
        TaskEnd::Interrupted => "`ralph work` goes on with it",
        TaskEnd::LeaseLost => "by another worker",
    }
}

/// Says what a task waits for that nobody could take.
fn describe_waiting(head: &TaskListItem, statuses: &BTreeMap<&str, TaskStatus>) -> Option<String> {
    if head.status != TaskStatus::Todo {
        return None;
    }
    let id = &head.id;
    if head.approval == Approval::Pending {
        return Some(format!("{id}  waits for approval: ralph task approve {id}"));
    }
    let unmet = unmet_dependencies(&head.dependencies, |id| statuses.get(id).copied());
    (!unmet.is_empty()).then(|| format!("{id}  waits for {}", unmet.join(", ")))
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
        TaskEvent::Finished { task, status, reason: why, failure } => json!({
            "event": "task.over", "task": task, "status": status, "reason": why, "ralph_failure": failure
        }),
        TaskEvent::Interrupted { task, stage } => {
            json!({"event": "task.stopped", "task": task, "stage": stage})
        }
        TaskEvent::LeaseLost { task } => json!({"event": "task.lost", "task": task}),
        TaskEvent::Deferred { task, reason: why } => {
            json!({"event": "task.left", "task": task, "reason": why})
        }
        TaskEvent::Idle => json!({"event": "work.idle"}),
        TaskEvent::StoreBusy => json!({"event": "warning", "message": BUSY_MESSAGE}),
        TaskEvent::BudgetExhausted { spent_micros: spent, limit_micros: limit } => {
            json!({"event": "work.spent", "cost_usd": micros_to_usd(*spent), "max_cost_usd": micros_to_usd(*limit)})
        }
        TaskEvent::TooManyFailures { failures: failed, reason: why } => {
            json!({"event": "work.braked", "failed": failed, "reason": why})
        }
    }
}

fn micros_to_usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Lines with a name before them. On a terminal they fit.
struct PrefixedLineWriter {
    prefix: String,
    buffer: Vec<u8>,
}

impl Write for PrefixedLineWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            match *byte {
                b'\n' => self.end_line(),
                byte => self.buffer.push(byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PrefixedLineWriter {
    fn new(prefix: String) -> Self {
        Self { prefix, buffer: Vec::new() }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.buffer);
        if !line.trim_ascii().is_empty() {
            out::print_note(&format!("{}  {}", self.prefix, String::from_utf8_lossy(&line)));
        }
    }
}
