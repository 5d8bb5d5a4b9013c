//! The way from the observer of a run to its feed. Text of agents that the feed cannot store fast enough is limited; events
//! are few and never dropped.
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::run_feed::FeedItem;

/// How much text of agents may wait for the store.
const MAX_QUEUED_BYTES: usize = 4 * 1024 * 1024;

/// Shared by both ends.
#[derive(Default)]
struct QueuedText {
    bytes: AtomicUsize,
    dropped: AtomicU64,
}

pub(super) struct FeedSender {
    items: UnboundedSender<FeedItem>,
    text: Arc<QueuedText>,
}

pub(super) struct FeedReceiver {
    items: UnboundedReceiver<FeedItem>,
    text: Arc<QueuedText>,
}

pub(super) fn open_feed_queue() -> (FeedSender, FeedReceiver) {
    let (sender, receiver) = unbounded_channel();
    let text: Arc<QueuedText> = Arc::default();
    (FeedSender { items: sender, text: Arc::clone(&text) }, FeedReceiver { items: receiver, text })
}

impl FeedSender {
    /// Sends an item. Text that does not fit is dropped and counted.
    pub(super) fn send(&self, item: FeedItem) {
        let bytes = item.text_bytes();
        if self.text.bytes.fetch_add(bytes, Ordering::AcqRel) + bytes > MAX_QUEUED_BYTES && bytes > 0 {
            self.text.bytes.fetch_sub(bytes, Ordering::AcqRel);
            self.text.dropped.fetch_add(1, Ordering::AcqRel);
            return;
        }
        // A feed that could not start receives nothing.
        drop(self.items.send(item));
    }
}

impl FeedReceiver {
    pub(super) async fn next_item(&mut self) -> Option<FeedItem> {
        let item = self.items.recv().await?;
        self.text.bytes.fetch_sub(item.text_bytes(), Ordering::AcqRel);
        Some(item)
    }

    /// How many parts of text were dropped.
    pub(super) fn dropped_count(&self) -> u64 {
        self.text.dropped.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> FeedItem {
        FeedItem::AgentText { node: "n".to_owned(), message: 1, text: "x".repeat(bytes) }
    }

    // spec: W8
    // fault: 41
    #[tokio::test]
    async fn text_that_is_not_taken_is_limited_and_events_are_kept() {
        let (sender, mut receiver) = open_feed_queue();
        for _ in 0..10 {
            sender.send(text(MAX_QUEUED_BYTES / 4));
        }
        let event = FeedItem::ChildMessage { text: "x".repeat(MAX_QUEUED_BYTES) };
        sender.send(event);
        assert_eq!(receiver.dropped_count(), 6);
        for _ in 0..4 {
            assert_eq!(receiver.next_item().await, Some(text(MAX_QUEUED_BYTES / 4)));
        }
        assert!(matches!(receiver.next_item().await, Some(FeedItem::ChildMessage { .. })));
        sender.send(text(MAX_QUEUED_BYTES));
        assert_eq!(receiver.dropped_count(), 6, "there is room again");
        drop(sender);
        assert_eq!(receiver.next_item().await, Some(text(MAX_QUEUED_BYTES)));
        assert_eq!(receiver.next_item().await, None);
    }
}
