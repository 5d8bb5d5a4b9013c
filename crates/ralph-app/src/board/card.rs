//! The cards of the board: one for each task, run without a task, and workflow run.
use ralph_core::task::TaskStatus;
use ralph_store::{RunRow, TaskListItem, WorkflowRunRow};
use ralph_util::sanitize::sanitize_text;

use super::LiveLoop;
use crate::view::{run_title, short_id};

/// Where a card is on the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CardLane {
    Running,
    ToDo,
    Ended,
}

/// The subject of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardKind {
    Task,
    Run,
    Workflow,
}

/// A task, a run without a task, or a workflow run.
#[derive(Debug, Clone, PartialEq)]
pub struct BoardCard {
    pub kind: CardKind,
    pub lane: CardLane,
    /// The id of the task, or the full id of the run.
    pub id: String,
    /// The newest run of a task, or the run itself.
    pub run: Option<String>,
    pub title: String,
    /// The status of the task, else of the run.
    pub status: String,
    /// The role of the newest run, else the kind of the run or the name of the workflow.
    pub role: String,
    pub iteration: i64,
    pub max_iterations: i64,
    pub agent: Option<String>,
    pub cost_micros: Option<i64>,
    pub proof: Option<String>,
    /// Why it ended, or what it waits for.
    pub reason: Option<String>,
    /// `None` for runs.
    pub priority: Option<u32>,
    /// Ids of dependencies that are not done.
    pub waits_for: Vec<String>,
    pub changed_at: i64,
    /// The loop that is running or parked.
    pub live: Option<Box<LiveLoop>>,
}

impl BoardCard {
    /// Returns the name with which people and commands name it: the id of the task, or the short id of the run.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.kind {
            CardKind::Task => &self.id,
            CardKind::Run | CardKind::Workflow => short_id(&self.id),
        }
    }

    /// Returns whether it ended without success.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.lane == CardLane::Ended && !matches!(self.status.as_str(), "done" | "completed" | "cancelled")
    }

    /// Returns the position: `Coder (3/15)`.
    #[must_use]
    pub fn position(&self) -> String {
        let role = title_case(&self.role);
        match self.kind {
            CardKind::Workflow => role,
            CardKind::Task | CardKind::Run if self.max_iterations == 0 => role,
            CardKind::Task | CardKind::Run => format!("{role} ({}/{})", self.iteration.max(1), self.max_iterations),
        }
    }

    pub(super) fn of_task(item: TaskListItem, waits_for: Vec<String>) -> Self {
        let run = item.run;
        let is_unapproved = item.approval == ralph_core::task::Approval::Pending && item.status == TaskStatus::Todo;
        Self {
            kind: CardKind::Task,
            lane: lane_of_task(item.status),
            title: sanitize_text(item.title.lines().next().unwrap_or_default()),
            status: item.status.as_str().to_owned(),
            role: run.as_ref().map(|run| run.role.clone()).unwrap_or_default(),
            iteration: run.as_ref().map_or(0, |run| run.iterations),
            max_iterations: run.as_ref().map_or(0, |run| run.max_iterations),
            agent: run.as_ref().map(|run| run.agent.clone()),
            cost_micros: run.as_ref().and_then(|run| run.cost_micros),
            proof: item.proof,
            reason: match run.as_ref().and_then(|run| run.reason.as_deref()) {
                Some(reason) => Some(sanitize_text(reason)),
                None => is_unapproved.then(|| "waits for your approval of its checks".to_owned()),
            },
            run: run.map(|run| run.id),
            priority: Some(item.priority),
            waits_for,
            changed_at: item.updated_at,
            live: None,
            id: item.id,
        }
    }

    pub(super) fn of_run(run: &RunRow) -> Self {
        let is_open = matches!(run.status.as_str(), "running" | "interrupted");
        Self {
            kind: CardKind::Run,
            lane: if is_open { CardLane::Running } else { CardLane::Ended },
            id: run.id.clone(),
            run: Some(run.id.clone()),
            title: run_title(run),
            status: run.status.clone(),
            role: run.role.clone().unwrap_or_else(|| run.kind.clone()),
            iteration: run.iterations,
            max_iterations: run.max_iterations,
            agent: Some(run.agent.clone()),
            cost_micros: run.cost_micros,
            proof: run.proof.clone(),
            reason: run.reason.as_deref().map(sanitize_text),
            priority: None,
            waits_for: Vec::new(),
            changed_at: run.ended_at.unwrap_or(run.started_at),
            live: None,
        }
    }

    pub(super) fn of_workflow(run: &WorkflowRunRow) -> Self {
        let message = run.message.lines().next().unwrap_or_default();
        Self {
            kind: CardKind::Workflow,
            lane: if run.ended_at.is_none() { CardLane::Running } else { CardLane::Ended },
            id: run.id.clone(),
            run: Some(run.id.clone()),
            title: sanitize_text(if message.is_empty() { &run.workflow } else { message }),
            status: run.status.clone(),
            role: format!("workflow {}", sanitize_text(&run.workflow)),
            iteration: run.step_index,
            max_iterations: 0,
            agent: None,
            cost_micros: None,
            proof: None,
            reason: run.reason.as_deref().map(sanitize_text),
            priority: None,
            waits_for: Vec::new(),
            changed_at: run.ended_at.unwrap_or(run.started_at),
            live: None,
        }
    }

    /// Adds what the newest run of a task knows.
    pub(super) fn add_run(&mut self, run: &RunRow) {
        self.agent = Some(run.agent.clone());
        self.cost_micros = run.cost_micros;
        self.role = run.role.clone().unwrap_or_else(|| run.kind.clone());
        (self.iteration, self.max_iterations) = (run.iterations, run.max_iterations);
        self.run = Some(run.id.clone());
        if self.reason.is_none() && self.lane == CardLane::Ended {
            self.reason = run.reason.as_deref().map(sanitize_text);
        }
    }
}

pub(super) fn lane_of_task(status: TaskStatus) -> CardLane {
    match status {
        TaskStatus::Todo => CardLane::ToDo,
        TaskStatus::Coding | TaskStatus::Reviewing | TaskStatus::Testing | TaskStatus::Qa => CardLane::Running,
        TaskStatus::Done | TaskStatus::Blocked | TaskStatus::Cancelled => CardLane::Ended,
    }
}

/// Returns the role for a card: `Coder`, `QA`.
fn title_case(role: &str) -> String {
    let mut letters = role.chars();
    match role {
        "qa" => "QA".to_owned(),
        _ => letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default(),
    }
}
