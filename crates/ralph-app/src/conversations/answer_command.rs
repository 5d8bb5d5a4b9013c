//! An answer to the question of a workflow run, from a conversation.
use ralph_core::conversation::AnswerCommand;

use super::hub::ConversationHub;
use super::receive::{IncomingMessage, MessageOutcome};
use super::run_status::find_open_run;
use crate::error::{AppError, AppResult};
use crate::view::short_id;
use crate::workflow_runs::{AnswerRequest, answer_question_as, find_workflow_run};

/// The result of an answer.
pub(super) struct AnswerReply {
    pub text: String,
    pub outcome: MessageOutcome,
}

impl ConversationHub {
    /// Stores the answer of a person. A run that no process drives must be resumed.
    pub(super) async fn answer(
        &self,
        incoming: &IncomingMessage<'_>,
        command: &AnswerCommand,
    ) -> AppResult<AnswerReply> {
        if !incoming.author.may_answer {
            return Err(AppError::preflight("this conversation cannot answer questions: it is not authenticated")
                .with_advice(
                    "answer in a terminal, on the dashboard, or in a conversation with a token or a signature",
                ));
        }
        let store = self.open_store().await?;
        let run = find_open_run(&store, &incoming.key.to_stored()).await?;
        store.close().await;
        let run = run.ok_or_else(|| AppError::preflight("no workflow of this conversation waits for an answer"))?;
        let request =
            AnswerRequest { run: Some(&run.id), node: None, decision: &command.decision, text: command.text.clone() };
        let answered = answer_question_as(&self.project, request, &incoming.author.name).await?;
        let text = format!("{}: {}, by {}", answered.question.node, answered.decision, incoming.author.name);
        let outcome = match answered.is_driven {
            true => MessageOutcome::Replied,
            false => MessageOutcome::Resume(Box::new(find_workflow_run(&self.project, Some(&run.id)).await?)),
        };
        Ok(AnswerReply { text: format!("{text} (run {})", short_id(&run.id)), outcome })
    }
}
