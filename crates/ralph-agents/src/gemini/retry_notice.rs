//! Parses the notices about retried requests, which Gemini prints only to stderr.
use crate::failure::classify;
use crate::failure::limit_reset::LimitReset;
use crate::stream::event::{AgentErrorKind, AgentEvent};

/// Marks the last notice. Its failure is reported in the result record.
const GIVE_UP_MARKER: &str = "Max attempts reached";

/// Returns the event for a line if it is a retry notice.
pub(crate) fn parse_retry_notice(line: &str) -> Option<AgentEvent> {
    let (number, reason) = line.strip_prefix("Attempt ")?.split_once(" failed")?;
    number.parse::<u32>().ok()?;
    if reason.contains(GIVE_UP_MARKER) {
        return None;
    }
    let message = line.split_once("... ").map_or(line, |(notice, _)| notice).trim_end_matches('.').to_owned();
    Some(match (retry_error_kind(reason), LimitReset::parse_message(reason)) {
        (AgentErrorKind::RateLimit, reset) if reset != (LimitReset::Unknown {}) => {
            AgentEvent::RateLimit { reset, message }
        }
        (kind, _) => AgentEvent::Error { kind, message, fatal: false },
    })
}

fn retry_error_kind(reason: &str) -> AgentErrorKind {
    if reason.contains("5xx error") { AgentErrorKind::Overloaded } else { classify::kind_of_retried_failure(reason) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: L6, A5
    fn each_retry_notice_has_an_error_kind() {
        let table = [
            ("Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {", AgentErrorKind::RateLimit),
            (
                "Attempt 2 failed with 429 error (no Retry-After header). Retrying with backoff...",
                AgentErrorKind::RateLimit,
            ),
            ("Attempt 3 failed with status 500. Retrying with backoff... _ApiError: {", AgentErrorKind::Overloaded),
            ("Attempt 4 failed with 5xx error. Retrying with backoff... Error", AgentErrorKind::Overloaded),
            ("Attempt 5 failed. Retrying with backoff... TypeError: fetch failed", AgentErrorKind::Network),
        ];
        for (line, kind) in table {
            let Some(AgentEvent::Error { kind: found, message, fatal: false }) = parse_retry_notice(line) else {
                panic!("{line}")
            };
            assert_eq!(found, kind, "{line}");
            assert!(message.ends_with("Retrying with backoff"), "{message}");
        }
    }

    #[test] // spec: L6
    fn a_retried_quota_is_a_rate_limit_with_its_reset_time() {
        let line =
            "Attempt 1 failed: You exceeded your current quota. Please retry in 39.7s. Retrying after 41234ms...";
        assert!(matches!(
            parse_retry_notice(line),
            Some(AgentEvent::RateLimit { reset: LimitReset::After { retry_after_ms: 39_700 }, .. })
        ));
    }

    #[test] // spec: L6
    fn other_lines_are_not_retry_notices() {
        let lines = [
            "Attempt 10 failed: no. Max attempts reached",
            "Attempt to read failed",
            "  Attempt 1 failed with status 429",
            "YOLO mode is enabled. All tool calls will be automatically approved.",
        ];
        lines.into_iter().for_each(|line| assert_eq!(parse_retry_notice(line), None, "{line}"));
    }
}
