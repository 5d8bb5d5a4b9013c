//! Counts the messages of one attempt.

/// Counts the agent's messages. A message may arrive in many chunks.
#[derive(Debug, Default)]
pub(super) struct MessageCounter {
    count: u32,
    last_message: Option<u64>,
}

impl MessageCounter {
    pub(super) fn count_message(&mut self, message: u64) {
        if self.last_message.replace(message) != Some(message) {
            self.count = self.count.saturating_add(1);
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }
}
