//! Workflow runs that ask a person.
use ralph_core::event::UnixMillis;
use ralph_core::explanation::headline;
use ralph_engine::project::Project;
use ralph_store::{Store, WorkflowRunRow};

use super::{InboxAnswer, InboxItem, InboxKind};
use crate::error::AppResult;
use crate::run::is_orphaned;
use crate::view::short_id;
use crate::workflow_runs::{OpenQuestionView, load_open_questions};

/// Returns the open questions of the workflow runs that have not ended, and of those that they have started.
pub(super) async fn open_questions(project: &Project, store: &Store) -> AppResult<Vec<InboxItem>> {
    let mut items = Vec::new();
    let mut open = store.unfinished_workflow_runs().await?;
    while let Some(run) = open.pop() {
        let holds_slot = !is_orphaned(project, &run.id);
        let questions = load_open_questions(store, &run).await?;
        items.extend(questions.into_iter().map(|question| InboxItem { holds_slot, ..item_of(&run, question) }));
        let children = store.child_workflow_runs(&run.id).await?;
        open.extend(children.into_iter().filter(|child| child.ended_at.is_none()));
    }
    Ok(items)
}

fn item_of(run: &WorkflowRunRow, question: OpenQuestionView) -> InboxItem {
    let OpenQuestionView { node, text, decisions, .. } = question;
    let short = short_id(&run.id).to_owned();
    let first = text.trim().lines().next().unwrap_or_default();
    InboxItem {
        kind: InboxKind::WorkflowQuestion,
        id: short.clone(),
        task: None,
        run: Some(run.id.clone()),
        title: format!("{}: {}", run.workflow, run.message.lines().next().unwrap_or_default()),
        reason: headline(&run.status, &format!("{node} asks: {first}")),
        since: Some(UnixMillis(run.started_at)),
        holds_slot: false,
        blocked_tasks: 0,
        answer: InboxAnswer::AnswerWorkflow { run: short, node, decisions },
    }
}
