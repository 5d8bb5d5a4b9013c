//! The exact text, commands or question of something that waits for a person, and the approval of what was shown.
use ralph_core::task::completion_terms;
use ralph_engine::project::Project;
use ralph_store::TaskRow;
use ralph_util::sanitize::escape_hidden;

use crate::config::{ConfigSource, Settings};
use crate::error::{AppError, AppResult};
use crate::inbox::{InboxAnswer, InboxItem};
use crate::tasks::{TaskSelection, approve_tasks, detect_author, find_pending_tasks};
use crate::trust::{approve_commands, format_command, refuse_approval_by_agent};
use crate::why::explain_decision;
use crate::workflow_runs::{
    FoundWorkflowRun, approve_workflows, find_workflow_run, list_workflow_files, load_open_questions,
};

/// The text that was shown of an item that can be approved. An approval covers this and nothing else.
pub enum ShownInboxItem {
    Tasks(Vec<TaskRow>),
    Commands {
        settings: Box<Settings>,
        text: String,
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
            let selection = TaskSelection::Ids(vec![task.clone()]);
            let rows = find_pending_tasks(project, &selection, detect_author(project)).await?;
            let text = rows.iter().map(task_terms).collect::<Vec<_>>().join("\n");
            Ok((text, ShownInboxItem::Tasks(rows)))
        }
        InboxAnswer::ApproveCommands => {
            let settings = Box::new(config.load_settings(Some(project))?);
            let text = commands_text(project, &settings)?;
            Ok((text.clone(), ShownInboxItem::Commands { settings, text }))
        }
        InboxAnswer::AnswerWorkflow { run, node, .. } => {
            let FoundWorkflowRun { store, run } = find_workflow_run(project, Some(run)).await?;
            let questions = load_open_questions(&store, &run).await?;
            store.close().await;
            let asked = questions.iter().filter(|open| open.node == *node);
            let text: Vec<String> = asked
                .map(|open| format!("{}\n\nanswers: {}", escape_hidden(&open.text), open.decisions.join(", ")))
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
        ShownInboxItem::Tasks(rows) => approve_tasks(project, rows, detect_author(project)).await,
        ShownInboxItem::Commands { settings: _, text } => {
            refuse_approval_by_agent(project)?;
            let now = config.load_settings(Some(project))?;
            if commands_text(project, &now)? != *text {
                return Err(AppError::preflight("the commands of this project have changed meanwhile")
                    .with_advice("review them again: nothing was approved"));
            }
            approve_commands(project, &now)?;
            approve_workflows(project)
        }
        ShownInboxItem::Other => Err(AppError::invalid_request("this is not answered by an approval")),
    }
}

fn task_terms(row: &TaskRow) -> String {
    let mut text = format!("{}  {}\n", row.task.id, row.task.title);
    for term in completion_terms(&row.task) {
        text.push_str(&format!("  {}\n      {}\n", term.location, term.description.replace('\n', "\n      ")));
    }
    escape_hidden(&text)
}

fn commands_text(project: &Project, settings: &Settings) -> AppResult<String> {
    let files = list_workflow_files(project)?;
    let lines: Vec<String> = settings.project_commands.iter().chain(&files).map(format_command).collect();
    Ok(lines.join("\n"))
}
