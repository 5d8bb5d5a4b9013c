//! Retry rules for judges: when the same question is asked again.
use alloc::format;
use alloc::string::{String, ToString};

/// How often one question is asked.
const MAX_JUDGE_ATTEMPTS: u32 = 3;
/// The delay before the first retry. It doubles with each retry.
const FIRST_RETRY_DELAY_MS: u64 = 1_000;

/// Why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JudgeFailure {
    /// The server refused or failed.
    HttpStatus {
        code: u16,
        /// The error message of the server.
        message: Option<String>,
        /// The delay that the server requests.
        retry_after_ms: Option<u64>,
        /// The target of a redirect.
        location: Option<String>,
    },
    /// The connection failed or was interrupted.
    ConnectionFailed { reason: String },
    /// The agent that judges failed.
    AgentFailed { reason: String },
    /// The answer is not a verdict: it has another format, or its quotations are invented.
    UnusableAnswer { reason: String },
    /// A retry would fail in the same way.
    Permanent { reason: String },
}

/// Whether to send the question again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JudgeRetryDecision {
    Retry { after_ms: u64 },
    GiveUp { reason: String },
}

impl JudgeFailure {
    /// Decides whether to retry after this many attempts with this much time left.
    #[must_use]
    pub fn decide_retry(&self, attempts: u32, remaining_ms: u64) -> JudgeRetryDecision {
        if !self.is_transient() {
            return JudgeRetryDecision::GiveUp { reason: self.describe_failure() };
        }
        if attempts >= MAX_JUDGE_ATTEMPTS {
            return JudgeRetryDecision::GiveUp { reason: format!("{} ({attempts} attempts)", self.describe_failure()) };
        }
        let backoff = FIRST_RETRY_DELAY_MS << attempts.saturating_sub(1).min(6);
        let after_ms = match self {
            // The judge works; only its answer was bad.
            Self::UnusableAnswer { .. } => 0,
            Self::HttpStatus { retry_after_ms, .. } => retry_after_ms.unwrap_or(backoff),
            Self::ConnectionFailed { .. } | Self::AgentFailed { .. } | Self::Permanent { .. } => backoff,
        };
        if after_ms >= remaining_ms {
            let seconds = after_ms.div_ceil(1_000);
            let reason = format!("{}; a retry in {seconds} s would exceed the timeout", self.describe_failure());
            return JudgeRetryDecision::GiveUp { reason };
        }
        JudgeRetryDecision::Retry { after_ms }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::HttpStatus { code, .. } => matches!(code, 408 | 425 | 429 | 500..=599),
            Self::ConnectionFailed { .. } | Self::AgentFailed { .. } | Self::UnusableAnswer { .. } => true,
            Self::Permanent { .. } => false,
        }
    }

    /// Adds the name of the judge to the reason.
    #[must_use]
    pub fn with_reason_prefix(self, prefix: &str) -> Self {
        match self {
            Self::HttpStatus { .. } => self,
            Self::ConnectionFailed { reason } => Self::ConnectionFailed { reason: format!("{prefix}{reason}") },
            Self::AgentFailed { reason } => Self::AgentFailed { reason: format!("{prefix}{reason}") },
            Self::UnusableAnswer { reason } => Self::UnusableAnswer { reason: format!("{prefix}{reason}") },
            Self::Permanent { reason } => Self::Permanent { reason: format!("{prefix}{reason}") },
        }
    }

    /// Returns the reason in words.
    #[must_use]
    pub fn describe_failure(&self) -> String {
        match self {
            Self::ConnectionFailed { reason }
            | Self::AgentFailed { reason }
            | Self::UnusableAnswer { reason }
            | Self::Permanent { reason } => reason.clone(),
            Self::HttpStatus { code, location: Some(location), .. } if (300..400).contains(code) => {
                format!("it redirects to another URL, which is not followed: {location}")
            }
            Self::HttpStatus { code, message, .. } => {
                let detail = message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
                format!("it answered with status {code}{}{detail}", status_meaning(*code))
            }
        }
    }
}

fn status_meaning(code: u16) -> String {
    match code {
        401 | 403 => " (the key was not accepted)".to_string(),
        404 => " (unknown URL or model)".to_string(),
        413 => " (the question is too long)".to_string(),
        429 => " (too many requests)".to_string(),
        503 | 529 => " (overloaded)".to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn http_failure(code: u16, retry_after_ms: Option<u64>) -> JudgeFailure {
        JudgeFailure::HttpStatus { code, message: Some("so it is".to_string()), retry_after_ms, location: None }
    }

    // spec: V3
    #[test]
    fn transient_failures_are_retried_a_few_times() {
        let broken = JudgeFailure::ConnectionFailed { reason: "reset".to_string() };
        for failure in [http_failure(429, None), http_failure(500, None), http_failure(529, None), broken] {
            assert_eq!(failure.decide_retry(1, 60_000), JudgeRetryDecision::Retry { after_ms: 1_000 });
            assert_eq!(failure.decide_retry(2, 60_000), JudgeRetryDecision::Retry { after_ms: 2_000 });
            assert!(matches!(failure.decide_retry(3, 60_000), JudgeRetryDecision::GiveUp { .. }), "{failure:?}");
        }
    }

    // spec: V3
    // finding: N18
    #[test]
    fn an_agent_that_fails_as_a_judge_is_asked_again_and_a_bad_answer_without_delay() {
        let failed = JudgeFailure::AgentFailed { reason: "exited with 3".to_string() };
        assert_eq!(failed.decide_retry(1, u64::MAX), JudgeRetryDecision::Retry { after_ms: 1_000 });
        let unusable = JudgeFailure::UnusableAnswer { reason: "the judge's answer is empty".to_string() };
        assert_eq!(unusable.decide_retry(2, u64::MAX), JudgeRetryDecision::Retry { after_ms: 0 });
        let JudgeRetryDecision::GiveUp { reason } = unusable.decide_retry(3, u64::MAX) else { panic!() };
        assert_eq!(reason, "the judge's answer is empty (3 attempts)");
    }

    // spec: V3
    #[test]
    fn permanent_failures_are_not_retried() {
        let permanent = JudgeFailure::Permanent { reason: "no key".to_string() };
        for failure in [
            http_failure(400, None),
            http_failure(401, Some(1)),
            http_failure(404, None),
            http_failure(302, None),
            permanent,
        ] {
            assert!(matches!(failure.decide_retry(1, 60_000), JudgeRetryDecision::GiveUp { .. }), "{failure:?}");
        }
        let JudgeRetryDecision::GiveUp { reason } = http_failure(401, None).decide_retry(1, 1) else { panic!() };
        assert_eq!(reason, "it answered with status 401 (the key was not accepted): so it is");
    }

    // spec: V3
    #[test]
    fn the_delay_that_a_server_requests_is_used_unless_it_exceeds_the_timeout() {
        assert_eq!(
            http_failure(429, Some(7_000)).decide_retry(1, 7_001),
            JudgeRetryDecision::Retry { after_ms: 7_000 }
        );
        assert_eq!(http_failure(429, Some(0)).decide_retry(2, 1), JudgeRetryDecision::Retry { after_ms: 0 });
        let JudgeRetryDecision::GiveUp { reason } = http_failure(429, Some(7_000)).decide_retry(1, 7_000) else {
            panic!()
        };
        assert!(reason.ends_with("a retry in 7 s would exceed the timeout"), "{reason}");
        assert!(matches!(
            http_failure(503, Some(u64::MAX)).decide_retry(1, u64::MAX),
            JudgeRetryDecision::GiveUp { .. }
        ));
    }

    // spec: V3
    #[test]
    fn the_target_of_a_redirect_is_reported() {
        let location = Some("https://elsewhere.example/".to_string());
        let failure = JudgeFailure::HttpStatus { code: 307, message: None, retry_after_ms: None, location };
        let JudgeRetryDecision::GiveUp { reason } = failure.decide_retry(1, 60_000) else { panic!() };
        assert_eq!(reason, "it redirects to another URL, which is not followed: https://elsewhere.example/");
    }
}
