//! Receives a message: stores it, replies, and prepares what it asks for.
use ralph_core::conversation::{ConversationOrder, MessagePriority, WorkflowPhrases, route_message};
use ralph_core::event::UnixMillis;
use ralph_engine::run_driver::Clock;
use ralph_store::{ConversationStart, NewConversationMessage, Store};

use super::answer_command::AnswerReply;
use super::conversation_key::{ConversationKey, Platform};
use super::hub::{ConversationHub, Reply};
use super::reply_text;
use super::run_status::{describe_run, describe_runs, find_open_run};
use crate::config::{ConfigSource, Settings};
use crate::error::{AppError, AppResult};
use crate::interaction::NoInteraction;
use crate::view::short_id;
use crate::workflow_runs::{
    FoundWorkflowRun, PreparedWorkflow, WorkflowRunRequest, WorkflowWorkspace, cancel_workflow_run,
    prepare_workflow_run,
};
use crate::workflows::{WorkflowCatalog, find_triggers};
use ralph_util::amounts::DollarAmount;

/// A message is a line or a page, not a file.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;
/// A run that is not stored after this time will never start: its process has died.
const MAX_START_MS: u64 = 60_000;

/// A message of a person or a platform.
pub struct IncomingMessage<'a> {
    pub key: &'a ConversationKey,
    pub words: &'a str,
    pub author: MessageAuthor,
    pub config: &'a ConfigSource,
    /// Says how to fix an error, in the words of the screen.
    pub hints: fn(&AppError) -> Vec<String>,
}

/// The author of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAuthor {
    pub name: String,
    /// Whether the author is known, and may answer for a person.
    pub may_answer: bool,
}

/// The caller's next step after a message was answered.
pub enum MessageOutcome {
    Replied,
    /// Drive this run. It is bound to the conversation.
    Start(Box<PreparedWorkflow>, Box<Settings>),
    /// Drive this run again: a person has answered its question.
    Resume(Box<FoundWorkflowRun>),
}

impl ConversationHub {
    /// Records a request of a platform. Returns false if it is a repetition.
    pub async fn record_request(&self, platform: Platform, events: &[String]) -> AppResult<bool> {
        let store = self.open_store().await?;
        let mut is_new = true;
        for event in events {
            is_new &= store.record_platform_event(platform.as_str(), event, Clock::wall_now()).await?;
        }
        store.close().await;
        Ok(is_new)
    }

    /// Answers a message. A failure of what it asks for is part of the reply; an error means that nothing was stored.
    pub async fn receive(&self, incoming: IncomingMessage<'_>) -> AppResult<MessageOutcome> {
        if incoming.words.trim().is_empty() || incoming.words.len() > MAX_MESSAGE_BYTES {
            return Err(AppError::invalid_request(format!("a message has 1 to {MAX_MESSAGE_BYTES} bytes")));
        }
        let store = self.open_store().await?;
        let conversation = incoming.key.to_stored();
        store
            .add_conversation_message(&NewConversationMessage {
                conversation: &conversation,
                author: Some(&incoming.author.name),
                words: incoming.words,
                run: None,
                priority: MessagePriority::Normal,
                is_sent: false,
                at: Clock::wall_now(),
            })
            .await?;
        let outcome = match self.follow_order(&store, &incoming).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let text = reply_text::failure(&error, &(incoming.hints)(&error));
                self.reply(&store, incoming.key, Reply { text: &text, run: None }).await?;
                MessageOutcome::Replied
            }
        };
        store.close().await;
        Ok(outcome)
    }

    async fn follow_order(&self, store: &Store, incoming: &IncomingMessage<'_>) -> AppResult<MessageOutcome> {
        let workflows = self.load_phrases().await?;
        let text = match route_message(incoming.words, &workflows) {
            ConversationOrder::StartWorkflow { name, message } => {
                return self.start(store, incoming, StartOrder { name, message }).await;
            }
            ConversationOrder::Answer(command) => {
                let AnswerReply { text, outcome } = self.answer(incoming, &command).await?;
                self.reply(store, incoming.key, Reply { text: &text, run: None }).await?;
                return Ok(outcome);
            }
            ConversationOrder::CancelRun => self.cancel(store, incoming.key).await?,
            ConversationOrder::ShowStatus => describe_runs(&self.project, store, &incoming.key.to_stored()).await?,
            ConversationOrder::ListWorkflows => reply_text::list_workflows(&workflows),
            ConversationOrder::Unknown => reply_text::unknown_message(&workflows),
            ConversationOrder::Ambiguous { names } => reply_text::ambiguous_message(&names),
            ConversationOrder::Invalid { reason } => format!("error: {reason}"),
        };
        self.reply(store, incoming.key, Reply { text: &text, run: None }).await?;
        Ok(MessageOutcome::Replied)
    }

    async fn load_phrases(&self) -> AppResult<Vec<WorkflowPhrases>> {
        let project = self.project.clone();
        let load = move || {
            let catalog = WorkflowCatalog::open(Some(&project));
            // A broken workflow is found by its name, and its problems are the reply.
            let phrases = catalog.active_entries().map(|entry| {
                let found = catalog.find(&entry.name).ok();
                let triggers = found.map(|found| find_triggers(&found.loaded.workflow.description));
                WorkflowPhrases { name: entry.name.clone(), triggers: triggers.unwrap_or_default() }
            });
            phrases.collect()
        };
        tokio::task::spawn_blocking(load).await.map_err(|error| AppError::internal(&error))
    }

    /// Prepares a run and binds it to the conversation.
    async fn start(
        &self,
        store: &Store,
        incoming: &IncomingMessage<'_>,
        order: StartOrder,
    ) -> AppResult<MessageOutcome> {
        let conversation = incoming.key.to_stored();
        if let Some(open) = find_open_run(store, &conversation).await? {
            return Err(second_workflow().with_cause(describe_run(&open)));
        }
        let settings = incoming.config.load_settings(Some(&self.project)).map_err(AppError::from)?;
        let project = self.project.clone();
        let prepare = move || {
            let request = WorkflowRunRequest {
                name: &order.name,
                message: order.message,
                inputs: std::collections::BTreeMap::new(),
                workspace: WorkflowWorkspace::AsWritten,
                settings: &settings,
                extra_agent_args: Vec::new(),
                max_cost_micros: settings.limits.max_cost_usd.value.map(DollarAmount::as_micros),
            };
            prepare_workflow_run(request, project, &NoInteraction).map(|prepared| (prepared, settings.clone()))
        };
        let prepared = tokio::task::spawn_blocking(prepare).await.map_err(|error| AppError::internal(&error))?;
        let (prepared, settings) = prepared?;
        let at = Clock::wall_now();
        let starting_since = UnixMillis(at.0.saturating_sub_unsigned(MAX_START_MS));
        let start = ConversationStart { at, starting_since };
        // Another message may have started a workflow meanwhile.
        if !store.add_conversation_run(&prepared.run, &conversation, start).await? {
            return Err(second_workflow());
        }
        let text = format!("Workflow {} started (run {}).", prepared.spec.workflow.name, short_id(&prepared.run));
        self.reply(store, incoming.key, Reply { text: &text, run: Some(&prepared.run) }).await?;
        Ok(MessageOutcome::Start(Box::new(prepared), Box::new(settings)))
    }

    /// Forgets a run that could not start, so that the conversation can start another one.
    pub async fn forget_unstarted_run(&self, run: &str) -> AppResult<()> {
        let store = self.open_store().await?;
        store.remove_unstarted_conversation_run(run).await?;
        store.close().await;
        Ok(())
    }

    async fn cancel(&self, store: &Store, key: &ConversationKey) -> AppResult<String> {
        let open = find_open_run(store, &key.to_stored()).await?;
        let open = open.ok_or_else(|| AppError::preflight("no workflow of this conversation is active"))?;
        cancel_workflow_run(&self.project, Some(&open.id), &NoInteraction).await?;
        Ok(format!("Workflow {} is cancelled (run {}).", open.workflow, short_id(&open.id)))
    }
}

fn second_workflow() -> AppError {
    AppError::preflight("this conversation has a workflow that has not ended")
        .with_advice("/status shows it, /cancel-ralph ends it; another conversation can start another one")
}

/// A workflow to start.
struct StartOrder {
    name: String,
    message: String,
}
