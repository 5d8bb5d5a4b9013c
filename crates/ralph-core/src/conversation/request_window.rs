//! How old a signed request may be. An older one may have been recorded and sent again.

/// The largest difference between the time of a signed request and the clock of this machine.
pub const REQUEST_WINDOW_SECONDS: i64 = 5 * 60;

/// Returns whether a request that was signed at `signed_at` may be answered at `now`, both in Unix seconds.
#[must_use]
pub fn is_current_request(signed_at: i64, now: i64) -> bool {
    signed_at.abs_diff(now) <= REQUEST_WINDOW_SECONDS.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W9
    #[test]
    fn a_signed_request_is_answered_for_five_minutes_in_both_directions() {
        for signed_at in [700, 1000, 1300] {
            assert!(is_current_request(signed_at, 1000), "{signed_at}");
        }
        for signed_at in [699, 1301, i64::MIN, i64::MAX] {
            assert!(!is_current_request(signed_at, 1000), "{signed_at}");
        }
    }
}
