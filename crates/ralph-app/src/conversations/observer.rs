//! Passes the progress of a workflow run to the feed of its conversation.
use std::sync::Arc;

use ralph_agents::AgentEvent;

use super::feed_queue::FeedSender;
use super::run_feed::FeedItem;
use crate::workflow_runs::{EventSource, WorkflowFact, WorkflowObserver, describe_progress};

/// The feed ends when the observer is dropped: the run has ended.
pub(super) struct ConversationObserver {
    pub(super) inner: Arc<dyn WorkflowObserver>,
    pub(super) feed: FeedSender,
}

impl ConversationObserver {
    fn send(&self, item: FeedItem) {
        self.feed.send(item);
    }
}

impl WorkflowObserver for ConversationObserver {
    fn on_fact(&self, source: EventSource<'_>, fact: &WorkflowFact) {
        self.inner.on_fact(source, fact);
        if source.path.is_empty() {
            return self.send(FeedItem::Stored(fact.clone()));
        }
        // The journal of a child is not that of the run; only its messages are shown.
        if let WorkflowFact::Message { .. } = fact {
            let fact = fact.clone().with_node_prefix(source.path);
            describe_progress(&fact, true).into_iter().for_each(|text| self.send(FeedItem::ChildMessage { text }));
        }
    }

    fn on_agent_event(&self, node: &str, event: &AgentEvent) {
        self.inner.on_agent_event(node, event);
        let node = node.to_owned();
        match event {
            AgentEvent::Text { message, text } => {
                self.send(FeedItem::AgentText { node, message: *message, text: text.clone() });
            }
            AgentEvent::ToolCall { name, detail } => {
                self.send(FeedItem::ToolCall { node, text: format!("> {name} {detail}") });
            }
            AgentEvent::Error { message, .. } => {
                self.send(FeedItem::ToolCall { node, text: format!("error: {message}") });
            }
            AgentEvent::Started { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::PermissionDenied { .. }
            | AgentEvent::AtWork
            | AgentEvent::Unread
            | AgentEvent::Prompted
            | AgentEvent::Usage { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Finished { .. } => {}
        }
    }

    fn on_warning(&self, text: &str) {
        self.inner.on_warning(text);
        self.send(FeedItem::ChildMessage { text: format!("warning: {text}") });
    }
}
