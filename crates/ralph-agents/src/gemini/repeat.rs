//! Gemini tells on stderr alone that it repeats a request.
use crate::classify;
use crate::event::{AgentEvent, ErrorKind};
use crate::reset::Reset;

/// The last of its lines: what follows is told by its result.
const GIVES_UP: &str = "Max attempts reached";

/// Returns what a line tells, if it is one of those.
pub(super) fn told_by(line: &str) -> Option<AgentEvent> {
    let (number, why) = line.strip_prefix("Attempt ")?.split_once(" failed")?;
    number.parse::<u32>().ok()?;
    if why.contains(GIVES_UP) {
        return None;
    }
    let message = line.split_once("... ").map_or(line, |(what, _)| what).trim_end_matches('.').to_owned();
    Some(match (kind(why), Reset::in_words(why)) {
        (ErrorKind::RateLimit, reset) if reset != (Reset::Unknown {}) => {
            AgentEvent::RateLimit { reset, message }
        }
        (kind, _) => AgentEvent::Error { kind, message, fatal: false },
    })
}

fn kind(why: &str) -> ErrorKind {
    if why.contains("5xx error") { ErrorKind::Overloaded } else { classify::of_repeat(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: L6, A5
    fn each_line_about_a_repeat_says_over_what() {
        let table = [
            ("Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {", ErrorKind::RateLimit),
            (
                "Attempt 2 failed with 429 error (no Retry-After header). Retrying with backoff...",
                ErrorKind::RateLimit,
            ),
            (
                "Attempt 3 failed with status 500. Retrying with backoff... _ApiError: {",
                ErrorKind::Overloaded,
            ),
            ("Attempt 4 failed with 5xx error. Retrying with backoff... Error", ErrorKind::Overloaded),
            ("Attempt 5 failed. Retrying with backoff... TypeError: fetch failed", ErrorKind::Network),
        ];
        for (line, kind) in table {
            let Some(AgentEvent::Error { kind: found, message, fatal: false }) = told_by(line) else {
                panic!("{line}")
            };
            assert_eq!(found, kind, "{line}");
            assert!(message.ends_with("Retrying with backoff"), "{message}");
        }
    }

    #[test] // spec: L6
    fn a_quota_that_it_tries_again_is_a_limit_that_ends_when_it_says() {
        let line = "Attempt 1 failed: You exceeded your current quota. Please retry in 39.7s. Retrying after 41234ms...";
        assert!(matches!(
            told_by(line),
            Some(AgentEvent::RateLimit { reset: Reset::After { retry_after_ms: 39_700 }, .. })
        ));
    }

    #[test] // spec: L6
    fn what_is_no_repeat_is_none() {
        let lines = [
            "Attempt 10 failed: no. Max attempts reached",
            "Attempt to read failed",
            "  Attempt 1 failed with status 429",
            "YOLO mode is enabled. All tool calls will be automatically approved.",
        ];
        lines.into_iter().for_each(|line| assert_eq!(told_by(line), None, "{line}"));
    }
}
