//! Finds what can be notified: what has ended, and what waits for a person. Decides nothing about targets.
use std::collections::BTreeMap;

use ralph_core::event::UnixMillis;
use ralph_core::notification::{NotificationEvent, NotificationSubject};
use ralph_core::outcome::Outcome;
use ralph_core::session_loop::SESSION_RUN_KIND;
use ralph_core::task::TaskStatus;
use ralph_engine::project::Project;
use ralph_store::{LoopRow, Store, WorkflowRunRow};

use crate::error::AppResult;
use crate::inbox::{InboxAnswer, InboxItem, InboxKind, end_of_loop, waiting_loops, waiting_tasks};
use crate::run::is_orphaned;
use crate::view::{run_title, short_id};
use crate::workflow_runs::{load_open_questions, workflow_title};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ObservedEvent {
    /// Names it: every process that sees it finds the same name.
    pub id: String,
    /// Its names; the first is the usual one.
    pub events: Vec<NotificationEvent>,
    pub subject_kind: NotificationSubject,
    pub subject: String,
    pub role: Option<String>,
    pub task: Option<String>,
    pub run: Option<String>,
    pub reason: String,
    pub answer: Option<InboxAnswer>,
    pub happened_at: UnixMillis,
    pub page: String,
}

/// The time span in which events are searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObservedSpan {
    pub since: UnixMillis,
    pub now: UnixMillis,
}

/// Returns what happened in this span, and what waits now.
pub(super) async fn observe_events(
    project: &Project,
    store: &Store,
    span: ObservedSpan,
) -> AppResult<Vec<ObservedEvent>> {
    let mut events = ended_runs(store, span).await?;
    events.extend(unapproved_tasks(store, span).await?);
    events.extend(dead_loops(project, store, span).await?);
    let ended = store.workflow_runs_ended_since(span.since).await?;
    events.extend(ended.iter().filter_map(ended_workflow));
    events.extend(open_workflows(project, store, span).await?);
    Ok(events)
}

/// Returns the ends of runs without a task, and of the tasks whose stages have ended.
async fn ended_runs(store: &Store, span: ObservedSpan) -> AppResult<Vec<ObservedEvent>> {
    let mut events = Vec::new();
    let mut newest_of_task: BTreeMap<String, LoopRow> = BTreeMap::new();
    for row in store.runs_ended_since(span.since).await? {
        match row.run.task.clone() {
            _ if row.run.kind == SESSION_RUN_KIND => {}
            Some(task) => drop(newest_of_task.insert(task, row)),
            None => events.extend(ended_run(&row)),
        }
    }
    for (task, row) in newest_of_task {
        let status = store.get_task(&task).await?.map(|found| found.task.status);
        events.extend(status.and_then(|status| ended_task(&task, status, &row)));
    }
    Ok(events)
}

fn ended_run(row: &LoopRow) -> Option<ObservedEvent> {
    let run = &row.run;
    let completed = (NotificationEvent::Completed, None);
    let (event, answer) = match Outcome::parse(&run.status)? {
        Outcome::Completed => completed,
        Outcome::Blocked
        | Outcome::Exhausted
        | Outcome::Stalled
        | Outcome::OverBudget
        | Outcome::Failed
        | Outcome::Cancelled
        | Outcome::Interrupted => {
            let end = end_of_loop(row, short_id(&run.id))?;
            (event_of_kind(end.kind)?, Some((end.kind, end.answer)))
        }
    };
    Some(ObservedEvent {
        subject_kind: NotificationSubject::Run,
        subject: format!("{} {}", short_id(&run.id), run_title(run)),
        role: None,
        page: format!("/runs/{}", run.id),
        ..event_of_loop(row, event, answer)
    })
}

/// Returns the end of a task: a stage that another one follows ends nothing.
fn ended_task(task: &str, status: TaskStatus, row: &LoopRow) -> Option<ObservedEvent> {
    let (event, answer) = match status {
        TaskStatus::Done => (NotificationEvent::Completed, None),
        TaskStatus::Blocked => match end_of_loop(row, task) {
            Some(end) => (event_of_kind(end.kind)?, Some((end.kind, end.answer))),
            // The stage ended as it should, and the rules of the pipeline blocked the task.
            None if row.run.status == Outcome::Completed.as_str() => {
                let answer = InboxAnswer::RetryTask { task: task.to_owned() };
                (NotificationEvent::Blocked, Some((InboxKind::Blocked, answer)))
            }
            None => return None,
        },
        TaskStatus::Todo
        | TaskStatus::Coding
        | TaskStatus::Reviewing
        | TaskStatus::Testing
        | TaskStatus::Qa
        | TaskStatus::Cancelled => return None,
    };
    Some(ObservedEvent {
        subject_kind: NotificationSubject::Task,
        subject: task.to_owned(),
        role: row.run.role.clone().filter(|_| event != NotificationEvent::Completed),
        page: format!("/tasks/{task}"),
        ..event_of_loop(row, event, answer)
    })
}

fn event_of_loop(row: &LoopRow, event: NotificationEvent, answer: Option<(InboxKind, InboxAnswer)>) -> ObservedEvent {
    let run = &row.run;
    let ended_at = run.ended_at.unwrap_or(run.started_at);
    let asks = answer.as_ref().is_some_and(|(kind, _)| asks_person(*kind));
    ObservedEvent {
        id: format!("{}:{ended_at}:{}", run.id, event.as_str()),
        events: std::iter::once(event).chain(asks.then_some(NotificationEvent::Waiting)).collect(),
        subject_kind: NotificationSubject::Run,
        subject: String::new(),
        role: None,
        task: run.task.clone(),
        run: Some(run.id.clone()),
        reason: run.reason.clone().unwrap_or_default(),
        answer: answer.map(|(_, answer)| answer),
        happened_at: UnixMillis(ended_at),
        page: String::new(),
    }
}

/// Returns the event of something in the inbox; `None` for what is not notified.
fn event_of_kind(kind: InboxKind) -> Option<NotificationEvent> {
    match kind {
        InboxKind::Blocked | InboxKind::Question | InboxKind::ChangedTests | InboxKind::CouldNotEvaluate => {
            Some(NotificationEvent::Blocked)
        }
        InboxKind::Stalled => Some(NotificationEvent::Stalled),
        InboxKind::Exhausted => Some(NotificationEvent::Exhausted),
        InboxKind::Failed => Some(NotificationEvent::Failed),
        InboxKind::OverBudget => Some(NotificationEvent::OverBudget),
        InboxKind::Died => Some(NotificationEvent::Died),
        InboxKind::CheckApproval | InboxKind::WorkflowQuestion => Some(NotificationEvent::Waiting),
        // A person has caused these.
        InboxKind::CommandApproval | InboxKind::Paused | InboxKind::Interrupted | InboxKind::NotLanded => None,
    }
}

/// Returns whether a person must answer or decide before the work can continue.
fn asks_person(kind: InboxKind) -> bool {
    matches!(kind, InboxKind::Question | InboxKind::ChangedTests | InboxKind::CouldNotEvaluate)
}

async fn unapproved_tasks(store: &Store, span: ObservedSpan) -> AppResult<Vec<ObservedEvent>> {
    let waiting = waiting_tasks(store).await?;
    let is_new =
        |item: &InboxItem| item.kind == InboxKind::CheckApproval && item.since.is_some_and(|since| since >= span.since);
    let events = waiting.into_iter().filter(is_new).map(|item| ObservedEvent {
        id: format!("task:{}:approval", item.id),
        page: format!("/tasks/{}", item.id),
        ..waiting_event(item, NotificationSubject::Task, NotificationEvent::Waiting, span.now)
    });
    Ok(events.collect())
}

async fn dead_loops(project: &Project, store: &Store, span: ObservedSpan) -> AppResult<Vec<ObservedEvent>> {
    let mut events = Vec::new();
    for item in waiting_loops(project, store).await? {
        let is_new = item.kind == InboxKind::Died && item.since.is_some_and(|since| since >= span.since);
        let Some(run) = item.run.clone().filter(|_| is_new) else { continue };
        let kind = if item.task.is_some() { NotificationSubject::Task } else { NotificationSubject::Run };
        events.push(ObservedEvent {
            id: format!("{run}:died"),
            reason: "its ralph died; resume it".to_owned(),
            page: format!("/runs/{run}"),
            happened_at: span.now,
            ..waiting_event(item, kind, NotificationEvent::Died, span.now)
        });
    }
    Ok(events)
}

fn waiting_event(
    item: InboxItem,
    subject_kind: NotificationSubject,
    event: NotificationEvent,
    now: UnixMillis,
) -> ObservedEvent {
    ObservedEvent {
        id: String::new(),
        events: vec![event],
        subject_kind,
        subject: if item.task.is_some() { item.id } else { format!("{} {}", item.id, item.title) },
        role: None,
        task: item.task,
        run: item.run,
        reason: item.reason,
        answer: Some(item.answer),
        happened_at: item.since.unwrap_or(now),
        page: String::new(),
    }
}

fn ended_workflow(row: &WorkflowRunRow) -> Option<ObservedEvent> {
    let event = match Outcome::parse(&row.status)? {
        Outcome::Completed => NotificationEvent::Completed,
        Outcome::Failed => NotificationEvent::Failed,
        Outcome::Blocked => NotificationEvent::Blocked,
        Outcome::Exhausted => NotificationEvent::Exhausted,
        Outcome::Stalled => NotificationEvent::Stalled,
        Outcome::OverBudget => NotificationEvent::OverBudget,
        Outcome::Cancelled | Outcome::Interrupted => return None,
    };
    let ended_at = row.ended_at.unwrap_or(row.started_at);
    Some(ObservedEvent {
        id: format!("{}:{ended_at}:{}", row.id, event.as_str()),
        events: vec![event],
        reason: row.reason.clone().unwrap_or_default(),
        happened_at: UnixMillis(ended_at),
        answer: (event != NotificationEvent::Completed)
            .then(|| InboxAnswer::Resume { run: short_id(&row.id).to_owned() }),
        ..event_of_workflow(row)
    })
}

fn event_of_workflow(row: &WorkflowRunRow) -> ObservedEvent {
    ObservedEvent {
        id: String::new(),
        events: Vec::new(),
        subject_kind: NotificationSubject::Workflow,
        subject: format!("{} {}", short_id(&row.id), workflow_title(&row.workflow, &row.message)),
        role: None,
        task: None,
        run: Some(row.id.clone()),
        reason: String::new(),
        answer: None,
        happened_at: UnixMillis(row.started_at),
        page: format!("/workflow-runs/{}", row.id),
    }
}

/// Returns the open questions of workflow runs, and the runs whose process died.
async fn open_workflows(project: &Project, store: &Store, span: ObservedSpan) -> AppResult<Vec<ObservedEvent>> {
    let mut events = Vec::new();
    for row in store.unfinished_workflow_runs().await? {
        let questions = load_open_questions(store, &row).await?;
        let seems_dead = row.status == "running" && questions.is_empty() && is_orphaned(project, &row.id);
        // The run may have ended after it was listed, and before its driver was looked for.
        let is_dead = seems_dead && store.workflow_run(&row.id).await?.is_some_and(|now| now.status == row.status);
        if is_dead && row.started_at >= span.since.0 {
            events.push(ObservedEvent {
                id: format!("{}:{}:died", row.id, row.fence),
                events: vec![NotificationEvent::Died],
                reason: "its ralph died; resume it".to_owned(),
                answer: Some(InboxAnswer::Resume { run: short_id(&row.id).to_owned() }),
                happened_at: span.now,
                ..event_of_workflow(&row)
            });
        }
        for question in questions {
            let run = short_id(&question.run).to_owned();
            events.push(ObservedEvent {
                id: format!("{}:question:{}", question.run, question.question),
                events: vec![NotificationEvent::Waiting],
                role: Some(question.node.clone()),
                reason: question.text,
                answer: Some(InboxAnswer::AnswerWorkflow { run, node: question.node, decisions: question.decisions }),
                happened_at: span.now,
                ..event_of_workflow(&row)
            });
        }
    }
    Ok(events)
}
