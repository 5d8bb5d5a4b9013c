//! An answer to the question of a workflow run, from a conversation.
use ralph_core::conversation::AnswerCommand;
use ralph_store::{Store, WorkflowRunRow};
use ralph_util::redact::redact_text;
use ralph_util::sanitize::sanitize_text;

use super::hub::ConversationHub;
use super::receive::{IncomingMessage, MessageOutcome};
use super::run_message::question_text;
use super::run_status::find_open_run;
use crate::error::{AppError, AppResult};
use crate::view::short_id;
use crate::workflow_runs::{
    AnswerRequest, OpenQuestionView, answer_question_as, find_workflow_run, load_open_questions,
};

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
        let conversation = incoming.key.to_stored();
        let run = find_open_run(&store, &conversation).await?;
        let run = run.ok_or_else(|| AppError::preflight("no workflow of this conversation waits for an answer"))?;
        refuse_unshown_question(&store, &conversation, &run).await?;
        store.close().await;
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

/// Refuses an answer while the run asks something that the conversation has not shown: the answer is meant for another text.
async fn refuse_unshown_question(store: &Store, conversation: &str, run: &WorkflowRunRow) -> AppResult<()> {
    let open = load_open_questions(store, run).await?;
    let messages = store.conversation_messages(conversation).await?;
    let is_shown = |question: &OpenQuestionView| {
        let text = question_text(&question.node, &question.text, &question.decisions);
        let text = redact_text(&sanitize_text(&text)).into_owned();
        messages.iter().any(|message| message.author.is_none() && message.words == text)
    };
    match open.iter().find(|question| !is_shown(question)) {
        None => Ok(()),
        Some(question) => {
            Err(AppError::preflight(format!("this conversation has not shown the question of {}", question.node))
                .with_advice("wait for it and answer then, or answer in a terminal or on the dashboard"))
        }
    }
}
