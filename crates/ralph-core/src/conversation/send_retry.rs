//! How often a message to a platform is sent again.

/// How important it is that a message arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePriority {
    /// Progress: the next message says more.
    Normal,
    /// The end of a loop or a run, and questions.
    Critical,
}

const MAX_NORMAL_RETRIES: u32 = 3;
const MAX_CRITICAL_RETRIES: u32 = 10;
/// The delay before the first retry; that of a critical message doubles each time.
const FIRST_DELAY_MS: u64 = 250;
const MAX_DELAY_MS: u64 = 30_000;

/// Returns the delay before a message is sent again, or `None` if it is lost. `failures` counts the failed sends.
#[must_use]
pub fn send_retry_delay_ms(priority: MessagePriority, failures: u32) -> Option<u64> {
    match priority {
        MessagePriority::Normal => (failures <= MAX_NORMAL_RETRIES).then_some(FIRST_DELAY_MS),
        MessagePriority::Critical => (failures <= MAX_CRITICAL_RETRIES).then(|| {
            let doubled = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
            FIRST_DELAY_MS.saturating_mul(doubled).min(MAX_DELAY_MS)
        }),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn delays(priority: MessagePriority) -> Vec<u64> {
        (1..100).map_while(|failures| send_retry_delay_ms(priority, failures)).collect()
    }

    // spec: W8
    #[test]
    fn a_message_is_sent_again_three_times_and_a_critical_one_ten_times_with_back_off() {
        assert_eq!(delays(MessagePriority::Normal), [250; 3]);
        let critical = [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000];
        assert_eq!(delays(MessagePriority::Critical), critical);
    }
}
