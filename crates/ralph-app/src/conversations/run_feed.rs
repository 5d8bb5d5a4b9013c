//! Shows one workflow run to its conversation: its stored events exactly once, and the text of its agents.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::conversation::{MessagePriority, send_retry_delay_ms};
use ralph_engine::run_driver::Clock;
use ralph_store::{ConversationRunRow, NewConversationMessage, Store};
use ralph_util::sanitize::sanitize_text;

use super::agent_output::AgentOutput;
use super::conversation_key::ConversationKey;
use super::feed_queue::{FeedReceiver, FeedSender, open_feed_queue};
use super::hub::ConversationHub;
use super::run_message::{RunMessage, output_of};
use crate::config::MessageMode;
use crate::error::AppResult;
use crate::workflow_runs::WorkflowFact;

/// The progress of a run, in its order.
#[derive(Debug, PartialEq)]
pub(super) enum FeedItem {
    /// The journal has this event. Later ones may be stored too, and are shown after the text that came before them.
    Stored(WorkflowFact),
    ChildMessage {
        text: String,
    },
    /// A part of a message of an agent.
    AgentText {
        node: String,
        message: u64,
        text: String,
    },
    ToolCall {
        node: String,
        text: String,
    },
}

impl FeedItem {
    /// The size of the text of an agent. Events have none: their number is limited by the workflow.
    pub(super) fn text_bytes(&self) -> usize {
        match self {
            Self::AgentText { text, .. } | Self::ToolCall { text, .. } => text.len(),
            Self::Stored(_) | Self::ChildMessage { .. } => 0,
        }
    }
}

pub(super) struct RunFeed {
    hub: Arc<ConversationHub>,
    run: String,
    outputs: BTreeMap<String, AgentOutput>,
    /// The messages that could not be stored.
    lost: u64,
}

impl RunFeed {
    /// Starts the feed. It ends when the sender is dropped.
    pub(super) fn spawn(hub: Arc<ConversationHub>, run: &str) -> FeedSender {
        let (sender, receiver) = open_feed_queue();
        let feed = Self { hub: Arc::clone(&hub), run: run.to_owned(), outputs: BTreeMap::new(), lost: 0 };
        let run = run.to_owned();
        tokio::spawn(async move {
            // The journal keeps everything that a feed could not show, and the hub shows it later.
            let _ = feed.show(receiver).await;
            hub.forget_feed(&run);
        });
        sender
    }

    async fn show(mut self, mut items: FeedReceiver) -> AppResult<()> {
        let Some(first) = items.next_item().await else { return Ok(()) };
        let store = self.hub.open_store().await?;
        // A run that no conversation has started is not shown.
        if store.conversation_of_run(&self.run).await?.is_some() {
            self.handle(&store, first).await;
            while let Some(item) = items.next_item().await {
                self.handle(&store, item).await;
            }
            self.show_events(&store, None).await;
            let rest = self.take_outputs();
            self.add_messages(&store, rest).await;
            let lost = self.lost + items.dropped_count();
            if lost > 0 {
                let text = format!("{} of this run could not be shown", count_messages(lost));
                self.add_messages(&store, vec![RunMessage::normal(text)]).await;
            }
        }
        store.close().await;
        Ok(())
    }

    async fn handle(&mut self, store: &Store, item: FeedItem) {
        match item {
            FeedItem::Stored(fact) => self.show_events(store, Some(&fact)).await,
            FeedItem::ChildMessage { text } => self.add_messages(store, vec![RunMessage::normal(text)]).await,
            FeedItem::AgentText { node, message, text } => {
                self.outputs.entry(node).or_default().add(message, &text);
                self.stream_outputs(store).await;
            }
            FeedItem::ToolCall { node, text } => {
                let output = self.outputs.entry(node).or_default();
                output.close_message();
                if self.hub.mode == MessageMode::Stream {
                    output.push(text);
                }
                self.stream_outputs(store).await;
            }
        }
    }

    /// Shows complete messages of agents as they come.
    async fn stream_outputs(&mut self, store: &Store) {
        if self.hub.mode == MessageMode::Batch {
            return;
        }
        let complete: Vec<_> = self.outputs.values_mut().flat_map(AgentOutput::take_complete).collect();
        self.add_messages(store, complete.into_iter().map(RunMessage::normal).collect()).await;
    }

    /// Takes the text of all agents: joined for each of them, or as single messages.
    fn take_outputs(&mut self) -> Vec<RunMessage> {
        let outputs = std::mem::take(&mut self.outputs).into_values().flat_map(|mut output| {
            output.close_message();
            let complete = output.take_complete();
            match self.hub.mode {
                MessageMode::Stream => complete,
                MessageMode::Batch if complete.is_empty() => Vec::new(),
                MessageMode::Batch => vec![complete.join("\n\n")],
            }
        });
        outputs.map(RunMessage::normal).collect()
    }

    /// Shows the events of the journal up to `last` that are not shown yet. The text of the agents comes before them.
    async fn show_events(&mut self, store: &Store, last: Option<&WorkflowFact>) {
        let mut failures = 0;
        loop {
            match self.try_show_events(store, last).await {
                Ok(()) => return,
                Err(_) => failures += 1,
            }
            let Some(delay_ms) = send_retry_delay_ms(MessagePriority::Critical, failures) else { return };
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
    }

    async fn try_show_events(&mut self, store: &Store, last: Option<&WorkflowFact>) -> AppResult<()> {
        let Some(run) = store.conversation_of_run(&self.run).await? else { return Ok(()) };
        let events = UnshownEvents::load(store, &run, last).await?;
        let has_message = events.facts.iter().any(|fact| RunMessage::from_fact(fact, self.hub.mode).is_some());
        let outputs = if has_message { self.take_outputs() } else { Vec::new() };
        add_event_messages(&self.hub, store, &run, EventMessages { outputs, events }).await
    }

    async fn add_messages(&mut self, store: &Store, messages: Vec<RunMessage>) {
        let Ok(Some(run)) = store.conversation_of_run(&self.run).await else {
            self.lost += messages.len() as u64;
            return;
        };
        for message in messages {
            let mut failures = 0;
            while let Err(_busy) = store.add_conversation_message(&stored_message(&self.hub, &run, &message)).await {
                failures += 1;
                let Some(delay_ms) = send_retry_delay_ms(message.priority, failures) else {
                    self.lost += 1;
                    break;
                };
                tokio::time::sleep(Duration::from_millis(delay_ms)).await;
            }
        }
        self.hub.changed.notify_one();
    }
}

/// Adds the messages of the events that are not shown yet.
pub(super) async fn show_stored_events(
    hub: &ConversationHub,
    store: &Store,
    run: &ConversationRunRow,
) -> AppResult<()> {
    let events = UnshownEvents::load(store, run, None).await?;
    add_event_messages(hub, store, run, EventMessages { outputs: Vec::new(), events }).await
}

/// Events to show, after text of agents.
struct EventMessages {
    outputs: Vec<RunMessage>,
    events: UnshownEvents,
}

/// Adds the messages of events in one transaction.
async fn add_event_messages(
    hub: &ConversationHub,
    store: &Store,
    run: &ConversationRunRow,
    messages: EventMessages,
) -> AppResult<()> {
    let EventMessages { outputs: before, events: UnshownEvents { facts, shown_until } } = messages;
    if shown_until == run.shown_events {
        return Ok(());
    }
    let messages = facts.iter().filter_map(|fact| RunMessage::from_fact(fact, hub.mode));
    let mut messages: Vec<RunMessage> = before.into_iter().chain(messages).collect();
    if let Some(output) = facts.last().and_then(output_of) {
        add_unshown_output(store, run, &mut messages, output).await?;
    }
    let clean: Vec<RunMessage> =
        messages.into_iter().map(|message| RunMessage { text: sanitize_text(&message.text), ..message }).collect();
    let rows: Vec<_> = clean.iter().map(|message| stored_message(hub, run, message)).collect();
    store.add_run_messages(run, shown_until, &rows).await?;
    hub.changed.notify_one();
    Ok(())
}

/// Adds the output of the run to its last message, unless the text of its agent was shown.
async fn add_unshown_output(
    store: &Store,
    run: &ConversationRunRow,
    messages: &mut [RunMessage],
    output: &str,
) -> AppResult<()> {
    let earlier = store.conversation_messages(&run.conversation).await?;
    let of_run = earlier.iter().filter(|message| message.run.as_deref() == Some(&run.run));
    let mut shown =
        of_run.map(|message| message.words.as_str()).chain(messages.iter().map(|message| message.text.as_str()));
    if !shown.any(|text| text.contains(output))
        && let Some(last) = messages.last_mut()
    {
        last.text = format!("{}\n\n{output}", last.text);
    }
    Ok(())
}

/// The events of the journal that are not shown yet.
struct UnshownEvents {
    facts: Vec<WorkflowFact>,
    shown_until: u64,
}

impl UnshownEvents {
    /// Loads the events up to `last`; none if it was shown already. Without `last`, loads all.
    async fn load(store: &Store, run: &ConversationRunRow, last: Option<&WorkflowFact>) -> AppResult<Self> {
        let after = i64::try_from(run.shown_events).unwrap_or(i64::MAX);
        let mut loaded = Self { facts: Vec::new(), shown_until: run.shown_events };
        for event in store.workflow_events_after(&run.run, after, u32::MAX).await? {
            let fact: Option<WorkflowFact> = serde_json::from_str(&event.body).ok();
            let is_last = last.is_some() && fact.as_ref() == last;
            loaded.facts.extend(fact);
            loaded.shown_until = event.seq.unsigned_abs();
            if is_last {
                return Ok(loaded);
            }
        }
        match last {
            None => Ok(loaded),
            Some(_) => Ok(Self { facts: Vec::new(), shown_until: run.shown_events }),
        }
    }
}

fn stored_message<'a>(
    hub: &ConversationHub,
    run: &'a ConversationRunRow,
    message: &'a RunMessage,
) -> NewConversationMessage<'a> {
    let platform = ConversationKey::from_stored(&run.conversation).map(|key| key.platform);
    let endpoint = platform.and_then(|platform| hub.endpoint(platform));
    NewConversationMessage {
        conversation: &run.conversation,
        author: None,
        words: &message.text,
        run: Some(&run.run),
        priority: message.priority,
        is_sent: endpoint.is_some_and(|endpoint| endpoint.can_send()),
        at: Clock::wall_now(),
    }
}

/// Returns `1 message` or `2 messages`.
pub(super) fn count_messages(count: u64) -> String {
    crate::view::pluralize(i64::try_from(count).unwrap_or(i64::MAX), "message")
}
