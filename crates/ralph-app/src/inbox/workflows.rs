//! Workflow runs that ask a person, and those that were stopped or whose process died.
use ralph_core::event::UnixMillis;
use ralph_core::explanation::headline;
use ralph_core::outcome::Outcome;
use ralph_engine::project::Project;
use ralph_store::{Store, WorkflowRunRow};

use super::{InboxAnswer, InboxItem, InboxKind};
use crate::error::AppResult;
use crate::run::is_orphaned;
use crate::view::short_id;
use crate::workflow_runs::{OpenQuestionView, load_open_questions, with_actual_status, workflow_title};

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

/// Returns the workflow runs that no process drives, that have not ended, and that ask nothing.
pub(super) async fn stopped_workflows(project: &Project, store: &Store) -> AppResult<Vec<InboxItem>> {
    let mut items = Vec::new();
    for row in store.open_root_workflow_runs().await? {
        let run = with_actual_status(project, row);
        if run.status != Outcome::Interrupted.as_str() || !load_open_questions(store, &run).await?.is_empty() {
            continue;
        }
        let short = short_id(&run.id).to_owned();
        items.push(InboxItem {
            kind: InboxKind::Interrupted,
            id: short.clone(),
            task: None,
            run: Some(run.id.clone()),
            title: workflow_title(&run.workflow, &run.message),
            reason: headline(&run.status, run.reason.as_deref().unwrap_or_default()),
            since: Some(UnixMillis(run.started_at)),
            holds_slot: false,
            blocked_tasks: 0,
            answer: InboxAnswer::Resume { run: short },
        });
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
        title: workflow_title(&run.workflow, &run.message),
        reason: headline(&run.status, &format!("{node} asks: {first}")),
        since: Some(UnixMillis(run.started_at)),
        holds_slot: false,
        blocked_tasks: 0,
        answer: InboxAnswer::AnswerWorkflow { run: short, node, decisions },
    }
}
