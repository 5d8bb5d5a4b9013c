//! How the work on many tasks is told: a line for each thing that happens, with the task that it happens to.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use ralph_core::budget::dollars;
use ralph_core::outcome::exit_code;
use ralph_core::pipeline::{How, Said};
use ralph_core::task::{Approval, Role, Status, unmet};
use serde_json::{Value, json};

use crate::cli::out;
use crate::cli::output_args::OutputArgs;
use crate::error::Failure;
use crate::report::{Detail, Elsewhere, JsonReport, Paint, PlainReport, Tone};
use ralph_app::config::Settings;
use ralph_app::view::one_or_many;
use ralph_engine::engine::{Audience, RunPlan, Watcher};
use ralph_engine::work::{Assignment, Finish, News, TaskEnd, Until};
use ralph_store::{BUSY, Store, TaskHead};

pub(super) struct Teller {
    audience: Audience,
    paint: Paint,
    warned: RefCell<BTreeSet<String>>,
}

impl Teller {
    pub(super) fn new(output: &OutputArgs) -> Self {
        let paint = Paint::for_stream(&io::stderr());
        Self { audience: output.audience(), paint, warned: RefCell::default() }
    }

    /// Says what will be done, and first of all whether anything limits what it may cost.
    pub(super) fn introduce(&self, assignment: &Assignment, settings: &Settings) {
        let capped = capped(assignment.max_cost_micros, settings);
        let stages: Vec<&str> = assignment.pipeline.stages().iter().map(Role::as_str).collect();
        let until = match assignment.until {
            Until::Idle => "until nothing is ready",
            Until::Stopped => "until Ctrl-C",
        };
        if self.audience == Audience::Nobody {
            if assignment.max_cost_micros.is_none() {
                self.json(&json!({"event": "warning", "message": capped}));
            }
            return;
        }
        out::note(&capped);
        out::note(&format!(
            "{} · {} · {} at a time · {until}",
            self.paint.paint(Tone::Bold, "ralph work"),
            stages.join(" → "),
            one_or_many(i64::try_from(assignment.slots).unwrap_or(i64::MAX), "task"),
        ));
    }

    /// Warns of something once: the next task has it too.
    pub(super) fn warn(&self, task: &str, text: &str) {
        if !self.warned.borrow_mut().insert(text.to_owned()) {
            return;
        }
        match self.audience {
            Audience::Nobody => self.json(&json!({"event": "warning", "task": task, "message": text})),
            Audience::People => out::note(&format!("{task}  warning: {text}")),
        }
    }

    /// Tells what came of landing a task that is done.
    pub(super) fn landed(&self, task: &str, said: &Result<String, String>) {
        match (self.audience, said) {
            (Audience::Nobody, Ok(text)) => {
                self.json(&json!({"event": "task.landed", "task": task, "message": text}));
            }
            (Audience::Nobody, Err(why)) => {
                self.json(&json!({"event": "task.not_landed", "task": task, "message": why}));
            }
            (Audience::People, Ok(text) | Err(text)) => {
                text.lines().for_each(|line| out::note(&format!("{task}  {line}")));
            }
        }
    }

    pub(super) fn news(&self, news: &News<'_>) {
        match self.audience {
            Audience::Nobody => self.json(&in_json(news)),
            Audience::People => self.line(news),
        }
    }

    fn json(&self, value: &Value) {
        out::line(&value.to_string());
    }

    fn line(&self, news: &News<'_>) {
        let (tone, text) = match news {
            // What the stage does comes with its name.
            News::Stage { .. } => return,
            News::Taken { task, stage, attempt: 1 } => (Tone::Bold, format!("{task}  {stage} begins")),
            News::Taken { task, stage, attempt } => {
                (Tone::Bold, format!("{task}  {stage} begins, attempt {attempt}"))
            }
            News::Next { task, ended, stage } => next(task, ended, stage),
            News::Over { task, status: Status::Done, why, .. } => {
                (Tone::Good, format!("{task}  done: {why}"))
            }
            News::Over { task, status, why, .. } => {
                (Tone::Bad, format!("{task}  {}: {why}", status.as_str()))
            }
            News::Left { task, stage } => {
                (Tone::Bad, format!("{task}  stopped in {stage}; `ralph work` goes on with it"))
            }
            News::Lost { task } => (Tone::Bad, format!("{task}  another worker has it now")),
            News::Aside { task, why } => (Tone::Bad, format!("{task}  left as it is: {why}")),
            News::Idle => (Tone::Dim, "nothing is ready; waiting for tasks (Ctrl-C ends)".to_owned()),
            News::Busy => (Tone::Care, format!("warning: {BUSY}")),
            News::Spent { spent, limit } => (
                Tone::Bad,
                format!("{} of {} are spent: nothing more is begun", dollars(*spent), dollars(*limit)),
            ),
            News::Braked { failed, why } => {
                (Tone::Bad, format!("{failed} tasks failed one after the other, so no more are taken: {why}"))
            }
        };
        out::note(&self.paint.paint(tone, &text));
    }

    /// Returns who watches a stage: what it does comes with the name of its task.
    pub(super) fn watcher(&self, plan: &RunPlan) -> Result<Box<dyn Watcher>, Failure> {
        let most = plan.policy.max_iterations;
        let name =
            plan.stage.as_ref().map_or_else(String::new, |stage| format!("{} {}", stage.task, stage.role));
        let paint = self.paint;
        let report = match self.audience {
            Audience::Nobody => Elsewhere::start(|| JsonReport::new(out::Watched)),
            Audience::People => Elsewhere::start(move || {
                PlainReport::in_lines(Named::new(name), paint, Detail::Milestones, most)
            }),
        };
        let report = report.map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
        Ok(Box::new(report))
    }

    /// Says what became of everything, and what waits for whom.
    pub(super) async fn summarise(&self, store: &Store, finish: &Finish) -> Result<(), Failure> {
        if self.audience == Audience::Nobody {
            let of = |(task, end): (&String, &TaskEnd)| json!({"id": task, "status": ending(end)});
            let tasks: Vec<Value> = finish.tasks.iter().map(of).collect();
            self.json(&json!({"event": "work.finished", "tasks": tasks}));
            return Ok(());
        }
        let count = |is: fn(&TaskEnd) -> bool| finish.tasks.values().filter(|end| is(end)).count();
        let done = count(|end| matches!(end, TaskEnd::Over { status: Status::Done, .. }));
        out::say(&format!("\n{done} of {} done", one_or_many(finish.tasks.len() as i64, "task")));
        for (task, end) in finish.tasks.iter().filter(|(_, end)| ending(end) != "done") {
            out::say(&format!("{task}  {}: {}", ending(end), reason(end)));
        }
        let heads = store.tasks().await?;
        let statuses: BTreeMap<&str, Status> =
            heads.iter().map(|head| (head.id.as_str(), head.status)).collect();
        heads.iter().filter_map(|head| waits(head, &statuses)).for_each(|line| out::say(&line));
        Ok(())
    }

    /// Says what the user is left to do with what is done.
    pub(super) fn to_land(&self, finish: &Finish) {
        if self.audience == Audience::People {
            let done = finish.tasks.iter().filter(|(_, end)| ending(end) == "done");
            let done: Vec<&str> = done.map(|(task, _)| task.as_str()).collect();
            land(&done).iter().for_each(|line| out::note(line));
        }
    }
}

/// How many tasks are named, so that the line stays one that people read.
const NAMED: usize = 5;

/// Says how what is done comes to whoever wanted it.
fn land(done: &[&str]) -> Option<String> {
    let named = if done.len() > NAMED { "TASK…".to_owned() } else { done.join(" ") };
    let what = "what is done lies on branches of its own";
    (!done.is_empty())
        .then(|| format!("{what}: `ralph land {named}` verifies it again and merges it into yours"))
}

/// Says what limits the cost, and what does not.
fn capped(all: Option<u64>, settings: &Settings) -> String {
    if let Some(all) = all {
        return format!("all of it may cost {}", dollars(all));
    }
    let limits = &settings.limits;
    let each = [
        ("a stage", &limits.max_cost_usd),
        ("a task", &limits.task.max_cost_usd),
        ("a spec", &limits.spec.max_cost_usd),
    ];
    let known = each.iter().filter_map(|(what, limit)| Some((what, limit.value?)));
    let known: Vec<String> =
        known.map(|(what, money)| format!("{what} may cost {}", dollars(money.micros()))).collect();
    if known.is_empty() {
        return "nothing limits what this may cost (--max-cost)".to_owned();
    }
    format!("{}; nothing limits all of them together (--max-cost)", known.join(", "))
}

fn next(task: &str, ended: &Said, stage: &Role) -> (Tone, String) {
    let by = &ended.stage;
    match ended.how {
        How::Accepted => (Tone::Good, format!("{task}  {by} is accepted; {stage} is next")),
        How::SentBack => {
            (Tone::Care, format!("{task}  {by} sends the work back to {stage}: {}", ended.words))
        }
        How::Failed => (Tone::Bad, format!("{task}  {by} failed; {stage} is next: {}", ended.words)),
    }
}

fn ending(end: &TaskEnd) -> &'static str {
    match end {
        TaskEnd::Over { status, .. } => status.as_str(),
        TaskEnd::Left => "stopped",
        TaskEnd::Lost => "taken over",
        TaskEnd::Aside { .. } => "left",
    }
}

fn reason(end: &TaskEnd) -> &str {
    match end {
        TaskEnd::Over { why, .. } | TaskEnd::Aside { why } => why,
        TaskEnd::Left => "`ralph work` goes on with it",
        TaskEnd::Lost => "by another worker",
    }
}

/// Says what a task waits for that nobody could take.
fn waits(head: &TaskHead, statuses: &BTreeMap<&str, Status>) -> Option<String> {
    if head.status != Status::Todo {
        return None;
    }
    let id = &head.id;
    if head.approval == Approval::Awaited {
        return Some(format!("{id}  waits for approval: ralph task approve {id}"));
    }
    let unmet = unmet(&head.dependencies, |id| statuses.get(id).copied());
    (!unmet.is_empty()).then(|| format!("{id}  waits for {}", unmet.join(", ")))
}

fn in_json(news: &News<'_>) -> Value {
    match news {
        News::Taken { task, stage, attempt } => {
            json!({"event": "task.taken", "task": task, "stage": stage, "attempt": attempt})
        }
        News::Stage { task, stage, run } => {
            json!({"event": "task.stage", "task": task, "stage": stage, "run": run})
        }
        News::Next { task, ended, stage } => json!({
            "event": "task.next", "task": task, "ended": ended.stage, "how": ended.how, "stage": stage
        }),
        News::Over { task, status, why, failure } => json!({
            "event": "task.over", "task": task, "status": status, "reason": why, "ralph_failure": failure
        }),
        News::Left { task, stage } => json!({"event": "task.stopped", "task": task, "stage": stage}),
        News::Lost { task } => json!({"event": "task.lost", "task": task}),
        News::Aside { task, why } => json!({"event": "task.left", "task": task, "reason": why}),
        News::Idle => json!({"event": "work.idle"}),
        News::Busy => json!({"event": "warning", "message": BUSY}),
        News::Spent { spent, limit } => {
            json!({"event": "work.spent", "cost_usd": usd(*spent), "max_cost_usd": usd(*limit)})
        }
        News::Braked { failed, why } => json!({"event": "work.braked", "failed": failed, "reason": why}),
    }
}

fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// Lines with a name before them. On a terminal they fit.
struct Named {
    name: String,
    line: Vec<u8>,
}

impl Write for Named {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            match *byte {
                b'\n' => self.end_line(),
                byte => self.line.push(byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Named {
    fn new(name: String) -> Self {
        Self { name, line: Vec::new() }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.trim_ascii().is_empty() {
            out::note(&format!("{}  {}", self.name, String::from_utf8_lossy(&line)));
        }
    }
}
