//! The text that an item of the inbox asks a person to decide on, with the controls that decide on this text.
use ralph_app::error::AppError;
use ralph_app::inbox::{InboxAnswer, InboxItem};
use ralph_app::review::{CommandReview, TaskTerms};
use ralph_app::workflow_runs::{FoundWorkflowRun, OpenQuestionView, find_workflow_run, load_open_questions};

use super::controls::Controls;
use super::display::DisplayText;
use super::home::InboxEntry;
use crate::context::ServerContext;

/// A text with the controls that decide on it.
pub(super) struct ShownDecision {
    pub(super) text: DisplayText,
    pub(super) controls: Controls,
}

impl ShownDecision {
    pub(super) fn of_question(question: &OpenQuestionView) -> Self {
        let shown = question.shown_text();
        Self {
            controls: Controls::for_shown_question(&question.run, &shown.digest, &question.decisions),
            text: DisplayText::new(shown.text),
        }
    }

    /// Returns `None` for an item that is not decided by reading a text, or that was decided meanwhile.
    async fn load(context: &ServerContext, answer: &InboxAnswer) -> Result<Option<Self>, AppError> {
        match answer {
            InboxAnswer::ApproveCommands => {
                let shown = CommandReview::load(&context.project, &context.config)?.shown;
                let controls = Controls::for_shown_commands(&shown.digest);
                Ok(Some(Self { text: DisplayText::new(shown.text), controls }))
            }
            InboxAnswer::ApproveTask { task } => {
                let shown = TaskTerms::load(&context.project, task).await?.shown;
                let controls = Controls::for_shown_checks(task, &shown.digest);
                Ok(Some(Self { text: DisplayText::new(shown.text), controls }))
            }
            InboxAnswer::AnswerWorkflow { run, node, .. } => {
                let FoundWorkflowRun { store, run } = find_workflow_run(&context.project, Some(run)).await?;
                let open = load_open_questions(&store, &run).await?;
                store.close().await;
                Ok(open.iter().find(|open| open.node == *node).map(Self::of_question))
            }
            InboxAnswer::DecideClaim { .. }
            | InboxAnswer::AnswerQuestion { .. }
            | InboxAnswer::Continue { .. }
            | InboxAnswer::RetryTask { .. }
            | InboxAnswer::Resume { .. }
            | InboxAnswer::StartWorker
            | InboxAnswer::ReadLog { .. }
            | InboxAnswer::Land { .. } => Ok(None),
        }
    }
}

/// Returns items of the inbox with the texts that they are about. An item whose text cannot be loaded any more is shown without
/// controls.
pub(super) async fn load_entries<'a>(
    context: &ServerContext,
    items: impl IntoIterator<Item = &'a InboxItem>,
) -> Vec<InboxEntry> {
    let mut entries = Vec::new();
    for item in items {
        let entry = InboxEntry::new(context, item);
        entries.push(match ShownDecision::load(context, &item.answer).await {
            Ok(Some(shown)) => InboxEntry { text: shown.text, controls: shown.controls, ..entry },
            Ok(None) | Err(_) => entry,
        });
    }
    entries
}
