//! Collects the failures that an agent reports: errors, rate limits, and requests that it retries. Structured records
//! take precedence over stderr, and the agent's messages never count.
use ralph_core::attempt::{AgentReportedError, AttemptEnding};
use ralph_core::event::UnixMillis;

use crate::run_driver::clock::Clock;
use ralph_agents::{AgentErrorKind, AgentEvent, LimitReset, is_lost_session_message, kind_from_stderr_line};
use ralph_util::sanitize::sanitize_text;

/// How many lines at the end of stderr are searched for the failure. Some agents print usage help after it.
const MAX_STDERR_LINES: usize = 10;

/// The failures of one attempt so far.
#[derive(Debug, Default)]
pub struct FailureCollector {
    /// The error that ended the attempt.
    fatal: Option<AgentReportedError>,
    /// The last rate limit since the agent made progress.
    rate_limit: Option<AgentReportedError>,
    /// The failure over which the agent retries requests.
    repeating: Option<AgentReportedError>,
    /// The last rejection of the agent's login since the agent made progress.
    login_rejection: Option<AgentReportedError>,
    /// How often the login was rejected since then.
    rejected_logins: u32,
}

/// The failures as the attempt's report shows them.
pub struct FailureSummary {
    pub failure: Option<AgentReportedError>,
    pub repeating: Option<AgentReportedError>,
}

/// Whether an event shows that the agent retries a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetrySignal {
    NoRetry,
    /// A request failed, and the agent will retry it.
    Retry,
}

impl FailureCollector {
    pub fn record_event(&mut self, event: &AgentEvent) -> RetrySignal {
        match event {
            AgentEvent::Text { .. } => {
                self.fatal = None;
                self.record_progress();
            }
            AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::AtWork
            | AgentEvent::Unread
            | AgentEvent::Finished { ok: true } => self.record_progress(),
            AgentEvent::PermissionDenied { .. } => {}
            AgentEvent::RateLimit { reset, message } => {
                let limit = new_failure(AgentErrorKind::RateLimit, message, reset_time(reset));
                self.repeating = Some(limit.clone());
                self.rate_limit = Some(limit);
                return RetrySignal::Retry;
            }
            AgentEvent::Error { kind, message, fatal: true } => {
                self.fatal = Some(self.failure_from_error(*kind, message));
            }
            AgentEvent::Error { kind, message, fatal: false } if is_retried_by_agent(*kind) => {
                self.repeating = Some(self.failure_from_error(*kind, message));
                return RetrySignal::Retry;
            }
            AgentEvent::Error { kind: AgentErrorKind::Auth, message, fatal: false } => {
                self.login_rejection = Some(self.failure_from_error(AgentErrorKind::Auth, message));
                self.rejected_logins = self.rejected_logins.saturating_add(1);
            }
            AgentEvent::Error { fatal: false, .. }
            | AgentEvent::Started { .. }
            | AgentEvent::Prompted
            | AgentEvent::Usage { .. }
            | AgentEvent::Finished { ok: false } => {}
        }
        RetrySignal::NoRetry
    }

    /// Records that the agent did something other than retry.
    pub fn record_progress(&mut self) {
        (self.rate_limit, self.repeating) = (None, None);
        (self.login_rejection, self.rejected_logins) = (None, 0);
    }

    /// Returns how often the provider has rejected the agent's login since the agent made progress.
    #[must_use]
    pub fn rejected_logins(&self) -> u32 {
        self.rejected_logins
    }

    #[must_use]
    pub fn is_repeating(&self) -> bool {
        self.repeating.is_some()
    }

    /// Returns whether the session to resume does not exist any more.
    #[must_use]
    pub fn is_session_lost(&self, stderr: &str) -> bool {
        self.fatal.as_ref().is_some_and(|failure| is_lost_session_message(&failure.message))
            || last_lines(stderr).any(is_lost_session_message)
    }

    /// Returns the failures for the report. If no record explains a failed exit, a rate limit or stderr does.
    #[must_use]
    pub fn summarize(self, ending: &AttemptEnding, stderr: &str) -> FailureSummary {
        let Self { fatal, rate_limit, repeating, login_rejection, rejected_logins: _ } = self;
        let has_failed = *ending != AttemptEnding::Exited { code: 0 };
        let inferred = || rate_limit.or_else(|| find_rate_limit(stderr)).filter(|_| has_failed);
        FailureSummary { failure: fatal.or_else(inferred), repeating: login_rejection.or(repeating) }
    }

    fn failure_from_error(&self, kind: AgentErrorKind, message: &str) -> AgentReportedError {
        let limit = self.rate_limit.as_ref().filter(|_| kind == AgentErrorKind::RateLimit);
        new_failure(kind, message, limit.and_then(|limit| limit.reset_at))
    }
}

fn new_failure(kind: AgentErrorKind, message: &str, reset_at: Option<UnixMillis>) -> AgentReportedError {
    AgentReportedError { kind, message: sanitize_text(message), reset_at }
}

/// Returns whether an agent that reports this error, and continues, will retry the request.
fn is_retried_by_agent(kind: AgentErrorKind) -> bool {
    match kind {
        AgentErrorKind::RateLimit | AgentErrorKind::Network | AgentErrorKind::Overloaded => true,
        AgentErrorKind::Auth
        | AgentErrorKind::Budget
        | AgentErrorKind::Context
        | AgentErrorKind::Model
        | AgentErrorKind::Format
        | AgentErrorKind::Crash
        | AgentErrorKind::Unknown => false,
    }
}

/// Returns the rate limit that the end of stderr reports.
fn find_rate_limit(stderr: &str) -> Option<AgentReportedError> {
    let line = last_lines(stderr).find(|line| kind_from_stderr_line(line) == AgentErrorKind::RateLimit)?;
    Some(new_failure(AgentErrorKind::RateLimit, line, reset_time(&LimitReset::parse_message(line))))
}

/// Returns when a limit that was reported just now ends.
fn reset_time(reset: &LimitReset) -> Option<UnixMillis> {
    let seconds = reset.resolve_timestamp(&Clock::local_now())?;
    Some(UnixMillis(seconds.saturating_mul(1_000)))
}

fn last_lines(stderr: &str) -> impl Iterator<Item = &str> {
    stderr.lines().rev().filter(|line| !line.trim().is_empty()).take(MAX_STDERR_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: L10
    fn a_lost_session_is_recognised_before_lines_of_help() {
        let stderr = "Error: No session, task, or name matched 'x'.\n\nTo resume: a\nTo resume: b\nTo name: c\nTo pick: d\nTo start: e\n";
        assert!(FailureCollector::default().is_session_lost(stderr));
        assert!(!FailureCollector::default().is_session_lost("To resume: a\n"));
    }

    fn error_event(kind: AgentErrorKind, fatal: bool) -> AgentEvent {
        AgentEvent::Error { kind, message: "oh".to_owned(), fatal }
    }

    fn text_event() -> AgentEvent {
        AgentEvent::Text { message: 1, text: "rate limit 429".to_owned() }
    }

    fn rate_limit_event(reset_at: i64) -> AgentEvent {
        AgentEvent::RateLimit { reset: LimitReset::At { reset_at }, message: "limit".to_owned() }
    }

    fn failures_after(events: &[AgentEvent]) -> FailureCollector {
        let mut failures = FailureCollector::default();
        for event in events {
            failures.record_event(event);
        }
        failures
    }

    const EXIT_CODE_ONE: AttemptEnding = AttemptEnding::Exited { code: 1 };

    // spec: L6
    // fault: 87
    #[test]
    fn a_rate_limit_has_the_reset_time_of_the_record_that_reported_it() {
        let failure = failures_after(&[rate_limit_event(7), error_event(AgentErrorKind::RateLimit, true)])
            .summarize(&EXIT_CODE_ONE, "")
            .failure
            .unwrap();
        assert_eq!((failure.kind, failure.reset_at), (AgentErrorKind::RateLimit, Some(UnixMillis(7_000))));
        let other = failures_after(&[rate_limit_event(7), error_event(AgentErrorKind::Auth, true)])
            .summarize(&EXIT_CODE_ONE, "")
            .failure
            .unwrap();
        assert_eq!(other.reset_at, None);
        let overcome =
            failures_after(&[rate_limit_event(7), text_event(), error_event(AgentErrorKind::RateLimit, true)]);
        assert_eq!(overcome.summarize(&EXIT_CODE_ONE, "").failure.unwrap().reset_at, None);
    }

    // spec: L6
    #[test]
    fn stderr_reports_a_rate_limit_only_if_no_record_says_why_the_agent_failed() {
        let stderr = "starting\nError: 429 Too Many Requests\n  at x\n";
        let kind = |failures: FailureCollector, ending: &AttemptEnding| {
            failures.summarize(ending, stderr).failure.map(|failure| failure.kind)
        };
        assert_eq!(kind(failures_after(&[]), &EXIT_CODE_ONE), Some(AgentErrorKind::RateLimit));
        assert_eq!(
            kind(failures_after(&[error_event(AgentErrorKind::Auth, true)]), &EXIT_CODE_ONE),
            Some(AgentErrorKind::Auth)
        );
        assert_eq!(kind(failures_after(&[]), &AttemptEnding::Exited { code: 0 }), None);
        let failure =
            failures_after(&[]).summarize(&EXIT_CODE_ONE, "rate limit reached, try again in 10s\n").failure.unwrap();
        assert!(failure.reset_at.is_some_and(|reset| reset > Clock::wall_now()), "{failure:?}");
        let long_ago = format!("429\n{}", "work\n".repeat(MAX_STDERR_LINES));
        assert!(failures_after(&[]).summarize(&EXIT_CODE_ONE, &long_ago).failure.is_none());
    }

    // spec: L6
    // fault: 87
    #[test]
    fn text_of_the_agent_is_not_a_rate_limit() {
        assert!(failures_after(&[text_event()]).summarize(&EXIT_CODE_ONE, "").failure.is_none());
    }

    // spec: L6
    #[test]
    fn an_agent_is_repeating_until_it_makes_progress() {
        assert!(failures_after(&[error_event(AgentErrorKind::Network, false)]).is_repeating());
        assert!(failures_after(&[rate_limit_event(1)]).is_repeating());
        assert!(!failures_after(&[error_event(AgentErrorKind::Model, false)]).is_repeating());
        for work in [text_event(), AgentEvent::ToolResult { ok: true, excerpt: String::new() }] {
            assert!(!failures_after(&[error_event(AgentErrorKind::Overloaded, false), work]).is_repeating());
        }
    }

    // finding: N72
    #[test]
    fn rejected_logins_are_counted_until_the_agent_makes_progress() {
        let rejected = error_event(AgentErrorKind::Auth, false);
        let failures = failures_after(&[rejected.clone(), rejected.clone()]);
        assert_eq!(failures.rejected_logins(), 2);
        assert_eq!(failures.summarize(&EXIT_CODE_ONE, "").repeating.unwrap().kind, AgentErrorKind::Auth);
        assert_eq!(failures_after(&[rejected.clone(), text_event(), rejected]).rejected_logins(), 1);
    }

    // spec: L10
    #[test]
    fn a_lost_session_is_recognised_from_the_record_or_from_stderr() {
        let lost = "No conversation found with session ID: 9";
        assert!(failures_after(&[]).is_session_lost(&format!("{lost}\n")));
        let record = AgentEvent::Error { kind: AgentErrorKind::Unknown, message: lost.to_owned(), fatal: true };
        assert!(failures_after(&[record]).is_session_lost(""));
        assert!(!failures_after(&[text_event()]).is_session_lost("fine\n"));
    }
}
