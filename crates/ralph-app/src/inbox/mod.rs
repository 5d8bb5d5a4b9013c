//! The inbox: everything that waits for a person, in one list. Reads no journal but that of workflow runs that wait.
mod approvals;
mod landing;
mod runs;
mod tasks;
mod workflows;

use std::collections::{BTreeMap, BTreeSet};

use ralph_core::event::UnixMillis;
use ralph_engine::project::Project;
use ralph_store::{Store, TaskDependencyRow};

use serde_json::{Value, json};

pub(crate) use runs::{end_of_loop, waiting_loops};
pub(crate) use tasks::waiting_tasks;

use crate::error::AppResult;
use crate::run::open_existing_store;
use crate::view::timestamp_json;

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxItem {
    pub kind: InboxKind,
    /// The id of the task, else the short id of the run, else `project`.
    pub id: String,
    pub task: Option<String>,
    /// The full id of the run or workflow run.
    pub run: Option<String>,
    pub title: String,
    /// The first line of `ralph why`.
    pub reason: String,
    /// Since when it waits; `None` if that is not recorded.
    pub since: Option<UnixMillis>,
    /// Whether a process is kept waiting.
    pub holds_slot: bool,
    /// How many tasks cannot start before it is answered.
    pub blocked_tasks: usize,
    pub answer: InboxAnswer,
}

/// Why something waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxKind {
    /// Commands or workflows of the project are not approved.
    CommandApproval,
    /// An agent wrote the checks of a task.
    CheckApproval,
    /// A workflow asks.
    WorkflowQuestion,
    /// The agent asks.
    Question,
    /// The agent changed protected tests.
    ChangedTests,
    /// The checks of a claim cannot be evaluated.
    CouldNotEvaluate,
    Blocked,
    Stalled,
    Exhausted,
    Failed,
    OverBudget,
    Paused,
    /// Its process died.
    Died,
    /// A workflow run was stopped, or its process died.
    Interrupted,
    /// Accepted work is not in the user's branch.
    NotLanded,
}

/// The action with which a person answers an item. A screen says how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InboxAnswer {
    /// Approve the commands of the project.
    ApproveCommands,
    /// Approve the checks of the task.
    ApproveTask { task: String },
    /// Answer the question of a workflow with one of the decisions.
    AnswerWorkflow { run: String, node: String, decisions: Vec<String> },
    /// Accept or reject the claim of a run or task.
    DecideClaim { id: String },
    /// Answer the question of the agent, then continue.
    AnswerQuestion { id: String, is_task: bool },
    /// Continue the run with more of what it ran out of, or make its task ready again.
    Continue { id: String, limit: ExhaustedLimit, is_task: bool },
    /// Make the task ready again.
    RetryTask { task: String },
    /// Resume the run.
    Resume { run: String },
    /// Start a worker, which resumes the stage.
    StartWorker,
    /// Read the log, then start another run.
    ReadLog { run: String },
    /// Land the accepted work.
    Land { name: String },
}

/// The limit that a continued run needs more of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExhaustedLimit {
    Iterations,
    Cost,
    Tokens,
    Duration,
    /// A new number helps less than words.
    Guidance,
}

impl InboxItem {
    /// Returns the JSON object of `inbox --json`. `commands` answer the item.
    #[must_use]
    pub fn to_json(&self, commands: &[String]) -> Value {
        json!({
            "id": self.id,
            "kind": self.kind.as_str(),
            "task": self.task,
            "run": self.run,
            "title": self.title,
            "reason": self.reason,
            "since": self.since.map(|since| timestamp_json(since.0)),
            "holds_slot": self.holds_slot,
            "blocked_tasks": self.blocked_tasks,
            "commands": commands,
        })
    }
}

impl InboxKind {
    /// Returns the name, which is stable.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommandApproval => "command_approval",
            Self::CheckApproval => "check_approval",
            Self::WorkflowQuestion => "workflow_question",
            Self::Question => "question",
            Self::ChangedTests => "changed_tests",
            Self::CouldNotEvaluate => "could_not_evaluate",
            Self::Blocked => "blocked",
            Self::Stalled => "stalled",
            Self::Exhausted => "exhausted",
            Self::Failed => "failed",
            Self::OverBudget => "over_budget",
            Self::Paused => "paused",
            Self::Died => "died",
            Self::Interrupted => "interrupted",
            Self::NotLanded => "not_landed",
        }
    }

    /// Returns the name for people.
    #[must_use]
    pub fn label(self) -> String {
        self.as_str().replace('_', " ")
    }
}

/// Returns everything that waits for a person: what holds a slot first, then what blocks most tasks, then the oldest.
pub async fn list_inbox(project: &Project) -> AppResult<Vec<InboxItem>> {
    let store = open_existing_store(project).await?;
    let items = load_inbox(project, store.as_ref()).await?;
    if let Some(store) = store {
        store.close().await;
    }
    Ok(items)
}

/// Like [`list_inbox`], with a store that is open already.
pub(crate) async fn load_inbox(project: &Project, store: Option<&Store>) -> AppResult<Vec<InboxItem>> {
    let mut items = approvals::unapproved_commands(project);
    if let Some(store) = store {
        items.extend(list_stored_items(project, store).await?);
    }
    items.sort_by_key(|item| {
        (!item.holds_slot, std::cmp::Reverse(item.blocked_tasks), item.since.map_or(i64::MAX, |since| since.0))
    });
    Ok(items)
}

async fn list_stored_items(project: &Project, store: &Store) -> AppResult<Vec<InboxItem>> {
    let mut items = waiting_tasks(store).await?;
    items.extend(waiting_loops(project, store).await?);
    items.extend(runs::unsuccessful_runs(store).await?);
    items.extend(workflows::open_questions(project, store).await?);
    items.extend(workflows::stopped_workflows(project, store).await?);
    items.extend(landing::unlanded_work(project, store).await?);
    if items.iter().any(|item| item.task.is_some()) {
        let dependants = Dependants::new(store.open_task_dependencies().await?);
        for item in &mut items {
            item.blocked_tasks = item.task.as_deref().map_or(0, |task| dependants.count(task));
        }
    }
    Ok(items)
}

/// The tasks that depend on each task.
struct Dependants(BTreeMap<String, Vec<String>>);

impl Dependants {
    fn new(rows: Vec<TaskDependencyRow>) -> Self {
        let mut dependants: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for TaskDependencyRow { task, depends_on } in rows {
            dependants.entry(depends_on).or_default().push(task);
        }
        Self(dependants)
    }

    /// Counts the tasks that depend on this one, directly or through other tasks.
    fn count(&self, task: &str) -> usize {
        let mut found: BTreeSet<&str> = BTreeSet::new();
        let mut open = vec![task];
        while let Some(next) = open.pop() {
            for dependant in self.0.get(next).into_iter().flatten() {
                if dependant != task && found.insert(dependant) {
                    open.push(dependant);
                }
            }
        }
        found.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U10
    #[test]
    fn tasks_that_wait_through_other_tasks_are_counted_once() {
        let row = |task: &str, on: &str| TaskDependencyRow { task: task.to_owned(), depends_on: on.to_owned() };
        let dependants =
            Dependants::new(vec![row("b", "a"), row("c", "b"), row("c", "a"), row("a", "c"), row("d", "x")]);
        assert_eq!((dependants.count("a"), dependants.count("b"), dependants.count("d")), (2, 2, 0));
    }
}
