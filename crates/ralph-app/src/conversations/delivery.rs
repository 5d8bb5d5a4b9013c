//! Sends messages to their platforms: in each conversation one after the other, again after a failure, and never in the way of
//! a run. A message that was stored and not sent is sent after a restart.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::conversation::send_retry_delay_ms;
use ralph_store::{ConversationMessageRow, DeliveryState, NewConversationMessage, Store};
use tokio::task::JoinSet;

use super::conversation_key::ConversationKey;
use super::hub::ConversationHub;
use super::platforms::endpoint::PlatformEndpoint;
use super::run_feed::count_messages;
use crate::error::AppResult;
use crate::view::short_id;

pub(super) struct DeliveryWorker {
    hub: Arc<ConversationHub>,
    /// The conversations to which messages are being sent. Each task returns the name of its conversation.
    active: JoinSet<String>,
    names: Vec<String>,
}

impl DeliveryWorker {
    pub(super) fn new(hub: Arc<ConversationHub>) -> Self {
        Self { hub, active: JoinSet::new(), names: Vec::new() }
    }

    /// Starts to send the messages that wait, unless their conversation is being served.
    pub(super) async fn send_waiting(&mut self, store: &Store) -> AppResult<()> {
        while let Some(ended) = self.active.try_join_next() {
            let ended = ended.unwrap_or_default();
            self.names.retain(|name| *name != ended);
        }
        let mut waiting: BTreeMap<String, Vec<ConversationMessageRow>> = BTreeMap::new();
        for message in store.waiting_conversation_messages().await? {
            waiting.entry(message.conversation.clone()).or_default().push(message);
        }
        for (conversation, messages) in waiting {
            let key = ConversationKey::from_stored(&conversation);
            let endpoint = key.as_ref().and_then(|key| self.hub.endpoint(key.platform));
            let (Some(key), Some(endpoint)) = (&key, endpoint.filter(|endpoint| endpoint.can_send())) else { continue };
            if self.names.contains(&conversation) {
                continue;
            }
            self.names.push(conversation.clone());
            let sender =
                ConversationSender { hub: Arc::clone(&self.hub), endpoint: Arc::clone(endpoint), key: key.clone() };
            self.active.spawn(async move {
                // A message whose end could not be stored is sent again.
                let _ = sender.send_all(messages).await;
                sender.hub.changed.notify_one();
                conversation
            });
        }
        Ok(())
    }
}

/// Sends the messages of one conversation.
struct ConversationSender {
    hub: Arc<ConversationHub>,
    endpoint: Arc<PlatformEndpoint>,
    key: ConversationKey,
}

impl ConversationSender {
    async fn send_all(&self, messages: Vec<ConversationMessageRow>) -> AppResult<()> {
        for message in messages {
            let state = self.send_with_retries(&message).await;
            let store = self.hub.open_store().await?;
            store.record_delivery(&message, state).await?;
            if let Some(run) = &message.run {
                self.report_lost_messages(&store, run).await?;
            }
            store.close().await;
        }
        Ok(())
    }

    async fn send_with_retries(&self, message: &ConversationMessageRow) -> DeliveryState {
        let mut failures = 0;
        while self.endpoint.send(&self.key, message).await.is_err() {
            failures += 1;
            let Some(delay_ms) = send_retry_delay_ms(message.priority, failures) else { return DeliveryState::Lost };
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
        DeliveryState::Sent
    }

    /// After the last message of a run that has ended, says how many were lost.
    async fn report_lost_messages(&self, store: &Store, run: &str) -> AppResult<()> {
        let Some(row) = store.workflow_run(run).await? else { return Ok(()) };
        let shown = store.conversation_of_run(run).await?.map_or(0, |shown| shown.shown_events);
        if row.ended_at.is_none() || shown < row.event_count.unsigned_abs() {
            return Ok(());
        }
        let all = store.conversation_messages(&self.key.to_stored()).await?;
        let count =
            |state| all.iter().filter(move |sent| sent.run.as_deref() == Some(run) && sent.delivery == Some(state));
        let lost = count(DeliveryState::Lost).count() as u64;
        if lost == 0 || count(DeliveryState::Waiting).next().is_some() {
            return Ok(());
        }
        let text = format!(
            "{} of workflow run {} could not be sent here; the conversation in ralph has all of them",
            count_messages(lost),
            short_id(run)
        );
        let report = NewConversationMessage {
            conversation: &self.key.to_stored(),
            author: None,
            words: &text,
            run: None,
            priority: ralph_core::conversation::MessagePriority::Critical,
            is_sent: true,
            at: ralph_engine::run_driver::Clock::wall_now(),
        };
        Ok(store.add_conversation_message(&report).await?)
    }
}
