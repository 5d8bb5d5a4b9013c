//! The exact text, commands or question of something that waits for a person, and the approval of what was shown.
use ralph_engine::project::Project;

use crate::config::ConfigSource;
use crate::error::{AppError, AppResult};
use crate::inbox::{InboxAnswer, InboxItem};
use crate::review::{CommandReview, TaskTerms, approve_seen_commands};
use crate::why::explain_decision;
use crate::workflow_runs::{FoundWorkflowRun, find_workflow_run, load_open_questions};

/// The text that was shown of an item that can be approved. An approval covers this and nothing else.
pub enum ShownInboxItem {
    Task(Box<TaskTerms>),
    Commands {
        digest: String,
    },
    /// The item is answered in another way.
    Other,
}

/// Returns the whole text of an item, and what an approval of it would cover.
pub async fn load_inbox_text(
    project: &Project,
    config: &ConfigSource,
    item: &InboxItem,
) -> AppResult<(String, ShownInboxItem)> {
    match &item.answer {
        InboxAnswer::ApproveTask { task } => {
            let terms = TaskTerms::load(project, task).await?;
            Ok((terms.shown.text.clone(), ShownInboxItem::Task(Box::new(terms))))
        }
        InboxAnswer::ApproveCommands => {
            let shown = CommandReview::load(project, config)?.shown;
            Ok((shown.text, ShownInboxItem::Commands { digest: shown.digest }))
        }
        InboxAnswer::AnswerWorkflow { run, node, .. } => {
            let FoundWorkflowRun { store, run } = find_workflow_run(project, Some(run)).await?;
            let questions = load_open_questions(&store, &run).await?;
            store.close().await;
            let asked = questions.iter().filter(|open| open.node == *node);
            let text: Vec<String> = asked
                .map(|open| format!("{}\n\nanswers: {}", open.shown_text().text, open.decisions.join(", ")))
                .collect();
            Ok((
                format!("node {node} of workflow {} asks\n\n{}", run.workflow, text.join("\n\n")),
                ShownInboxItem::Other,
            ))
        }
        InboxAnswer::DecideClaim { .. }
        | InboxAnswer::AnswerQuestion { .. }
        | InboxAnswer::Continue { .. }
        | InboxAnswer::RetryTask { .. }
        | InboxAnswer::Resume { .. }
        | InboxAnswer::StartWorker
        | InboxAnswer::ReadLog { .. }
        | InboxAnswer::Land { .. } => {
            let id = item.task.as_deref().or(item.run.as_deref());
            Ok((explain_decision(project, id, None).await?.to_text(), ShownInboxItem::Other))
        }
    }
}

/// Approves what was shown. Fails if it has changed since.
pub async fn approve_shown_item(project: &Project, config: &ConfigSource, shown: &ShownInboxItem) -> AppResult<()> {
    match shown {
        ShownInboxItem::Task(terms) => terms.approve(project).await,
        ShownInboxItem::Commands { digest } => approve_seen_commands(project, config, digest),
        ShownInboxItem::Other => Err(AppError::invalid_request("this is not answered by an approval")),
    }
}
