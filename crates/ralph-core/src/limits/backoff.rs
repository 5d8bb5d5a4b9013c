//! The delay before a retry: 1, 2, 4 … seconds, at most 60, with jitter so that many loops do not retry at the same
//! time.

const FIRST_DELAY_MS: u64 = 1_000;
const MAX_DELAY_MS: u64 = 60_000;

/// Returns the delay before retry number `retry` (from 1): a random value between half and all of the doubled delay.
#[must_use]
pub fn retry_delay_ms(retry: u32, random: u32) -> u64 {
    let doublings = retry.saturating_sub(1).min(16);
    let full = FIRST_DELAY_MS.saturating_mul(1 << doublings).min(MAX_DELAY_MS);
    let half = full / 2;
    half + u64::from(random) * half / u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    // spec: L5
    #[test]
    fn delays_double_from_one_second_and_stop_at_sixty() {
        let longest: Vec<u64> = (1..=8).map(|n| retry_delay_ms(n, u32::MAX)).collect();
        assert_eq!(longest, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(retry_delay_ms(u32::MAX, u32::MAX), 60_000);
    }

    // spec: L5
    #[test]
    fn jitter_shortens_a_delay_by_at_most_half() {
        assert_eq!(retry_delay_ms(3, 0), 2_000);
        assert!(retry_delay_ms(3, u32::MAX / 2) > 2_000);
        assert!(retry_delay_ms(3, u32::MAX / 2) < 4_000);
    }
}
