//! Drives what messages ask for.
use std::sync::Arc;

use ralph_app::conversations::{ConversationKey, IncomingMessage, MessageAuthor, MessageOutcome};
use ralph_app::error::{AppError, AppResult};
use ralph_app::workflow_runs::FoundWorkflowRun;

use crate::context::SharedContext;
use crate::driver::QuietObserver;

/// Stores a message, replies, and drives what it asks for. It is finished even if the sender no longer waits.
pub(super) async fn receive_message(
    context: &SharedContext,
    key: ConversationKey,
    words: String,
    author: MessageAuthor,
) -> AppResult<()> {
    let context = Arc::clone(context);
    let received = tokio::spawn(async move {
        let hints = context.words.hints;
        let incoming = IncomingMessage { key: &key, words: &words, author, config: &context.config, hints };
        let outcome = context.conversations.receive(incoming).await?;
        if let Err(error) = drive(&context, outcome).await {
            let hints = hints(&error).into_iter().map(|hint| format!("\nhint: {hint}"));
            let text: String = std::iter::once(format!("error: {error}")).chain(hints).collect();
            context.conversations.report_failure(&key, &text).await?;
        }
        Ok(())
    });
    received.await.map_err(|error| AppError::internal(&error))?
}

/// Returns as soon as the run is stored, or has failed before that.
async fn drive(context: &SharedContext, outcome: MessageOutcome) -> AppResult<()> {
    match outcome {
        MessageOutcome::Replied => Ok(()),
        MessageOutcome::Start(prepared, settings) => {
            let run = prepared.run.clone();
            let started = context.driver.start_stored_workflow(*prepared, *settings, Arc::new(QuietObserver)).await;
            if started.is_err() {
                context.conversations.forget_unstarted_run(&run).await?;
            }
            started.map(drop)
        }
        MessageOutcome::Resume(found) => {
            let FoundWorkflowRun { store, run } = *found;
            store.close().await;
            let settings = context.config.load_settings(Some(&context.project))?;
            let resumed = context.driver.resume_stored_workflow(&run.id, settings, Arc::new(QuietObserver));
            resumed.await.map(drop)
        }
    }
}
