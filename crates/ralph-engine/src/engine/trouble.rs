//! What stands in an agent's way, as its own output tells it: errors, limits, requests that it repeats. Structured records
//! come first, stderr second, and what the agent says in its own words never counts.
use ralph_core::attempt::{Ending, Trouble};
use ralph_core::event::Millis;

use super::clock::Clock;
use ralph_agents::{AgentEvent, ErrorKind, Reset, error_kind, session_is_lost};
use ralph_util::sanitize::sanitize;

/// How much of the end of stderr can say why an agent failed. Some say why, and then how to call them.
const LAST_LINES: usize = 10;

/// The troubles of one attempt so far.
#[derive(Debug, Default)]
pub struct Troubles {
    /// The error that ended the attempt.
    fatal: Option<Trouble>,
    /// The last refusal since the agent got on.
    limit: Option<Trouble>,
    /// What the agent repeats requests over, and has not overcome.
    repeating: Option<Trouble>,
}

/// What the attempt's report says of them.
pub struct Summed {
    pub trouble: Option<Trouble>,
    pub repeating: Option<Trouble>,
}

/// What an event says of the agent's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Other,
    /// A request failed, and the agent will repeat it.
    Repeated,
}

impl Troubles {
    pub fn note(&mut self, event: &AgentEvent) -> Step {
        match event {
            AgentEvent::Text { .. } => {
                self.fatal = None;
                self.got_on();
            }
            AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::AtWork
            | AgentEvent::Unread
            | AgentEvent::Finished { ok: true } => self.got_on(),
            AgentEvent::RateLimit { reset, message } => {
                let limit = trouble(ErrorKind::RateLimit, message, moment(reset));
                self.repeating = Some(limit.clone());
                self.limit = Some(limit);
                return Step::Repeated;
            }
            AgentEvent::Error { kind, message, fatal: true } => self.fatal = Some(self.error(*kind, message)),
            AgentEvent::Error { kind, message, fatal: false } if is_repeated(*kind) => {
                self.repeating = Some(self.error(*kind, message));
                return Step::Repeated;
            }
            AgentEvent::Error { fatal: false, .. }
            | AgentEvent::Started { .. }
            | AgentEvent::Prompted
            | AgentEvent::Usage { .. }
            | AgentEvent::Finished { ok: false } => {}
        }
        Step::Other
    }

    /// The agent did something else than repeating requests.
    pub fn got_on(&mut self) {
        (self.limit, self.repeating) = (None, None);
    }

    #[must_use]
    pub fn is_repeating(&self) -> bool {
        self.repeating.is_some()
    }

    /// Tells whether the session that was to be resumed is not there.
    #[must_use]
    pub fn is_session_lost(&self, stderr: &str) -> bool {
        self.fatal.as_ref().is_some_and(|trouble| session_is_lost(&trouble.message))
            || last_lines(stderr).any(session_is_lost)
    }

    /// Returns what the report says. Where no record told why the agent failed, a limit does, or stderr.
    #[must_use]
    pub fn sum(self, ending: &Ending, stderr: &str) -> Summed {
        let Self { fatal, limit, repeating } = self;
        let has_failed = *ending != Ending::Exited { code: 0 };
        let untold = || limit.or_else(|| limit_in(stderr)).filter(|_| has_failed);
        Summed { trouble: fatal.or_else(untold), repeating }
    }

    fn error(&self, kind: ErrorKind, message: &str) -> Trouble {
        let limit = self.limit.as_ref().filter(|_| kind == ErrorKind::RateLimit);
        trouble(kind, message, limit.and_then(|limit| limit.reset_at))
    }
}

fn trouble(kind: ErrorKind, message: &str, reset_at: Option<Millis>) -> Trouble {
    Trouble { kind, message: sanitize(message), reset_at }
}

/// Tells whether an agent that reports this, and goes on, will ask the same again.
fn is_repeated(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::RateLimit | ErrorKind::Network | ErrorKind::Overloaded => true,
        ErrorKind::Auth
        | ErrorKind::Budget
        | ErrorKind::Context
        | ErrorKind::Model
        | ErrorKind::Format
        | ErrorKind::Crash
        | ErrorKind::Unknown => false,
    }
}

/// Returns the limit that the end of stderr tells of.
fn limit_in(stderr: &str) -> Option<Trouble> {
    let line = last_lines(stderr).find(|line| error_kind(line) == ErrorKind::RateLimit)?;
    Some(trouble(ErrorKind::RateLimit, line, moment(&Reset::in_words(line))))
}

/// Returns when a limit ends that was told just now.
fn moment(reset: &Reset) -> Option<Millis> {
    let seconds = reset.moment(&Clock::local())?;
    Some(Millis(seconds.saturating_mul(1_000)))
}

fn last_lines(stderr: &str) -> impl Iterator<Item = &str> {
    stderr.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_LINES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: L10
    fn a_lost_session_is_recognised_before_lines_of_help() {
        let stderr = "Error: No session, task, or name matched 'x'.\n\nTo resume: a\nTo resume: b\nTo name: c\nTo pick: d\nTo start: e\n";
        assert!(Troubles::default().is_session_lost(stderr));
        assert!(!Troubles::default().is_session_lost("To resume: a\n"));
    }

    fn error(kind: ErrorKind, fatal: bool) -> AgentEvent {
        AgentEvent::Error { kind, message: "oh".to_owned(), fatal }
    }

    fn text() -> AgentEvent {
        AgentEvent::Text { message: 1, text: "rate limit 429".to_owned() }
    }

    fn limit(reset_at: i64) -> AgentEvent {
        AgentEvent::RateLimit { reset: Reset::At { reset_at }, message: "limit".to_owned() }
    }

    fn after(events: &[AgentEvent]) -> Troubles {
        let mut troubles = Troubles::default();
        for event in events {
            troubles.note(event);
        }
        troubles
    }

    const FAILED: Ending = Ending::Exited { code: 1 };

    // spec: L6
    // fault: 87
    #[test]
    fn a_limit_has_the_reset_time_of_the_record_that_told_it() {
        let told = after(&[limit(7), error(ErrorKind::RateLimit, true)]).sum(&FAILED, "").trouble.unwrap();
        assert_eq!((told.kind, told.reset_at), (ErrorKind::RateLimit, Some(Millis(7_000))));
        let other = after(&[limit(7), error(ErrorKind::Auth, true)]).sum(&FAILED, "").trouble.unwrap();
        assert_eq!(other.reset_at, None);
        let overcome = after(&[limit(7), text(), error(ErrorKind::RateLimit, true)]);
        assert_eq!(overcome.sum(&FAILED, "").trouble.unwrap().reset_at, None);
    }

    // spec: L6
    #[test]
    fn stderr_tells_of_a_limit_only_where_no_record_told_why_the_agent_failed() {
        let stderr = "starting\nError: 429 Too Many Requests\n  at x\n";
        let kind = |troubles: Troubles, ending: &Ending| {
            troubles.sum(ending, stderr).trouble.map(|trouble| trouble.kind)
        };
        assert_eq!(kind(after(&[]), &FAILED), Some(ErrorKind::RateLimit));
        assert_eq!(kind(after(&[error(ErrorKind::Auth, true)]), &FAILED), Some(ErrorKind::Auth));
        assert_eq!(kind(after(&[]), &Ending::Exited { code: 0 }), None);
        let told = after(&[]).sum(&FAILED, "rate limit reached, try again in 10s\n").trouble.unwrap();
        assert!(told.reset_at.is_some_and(|reset| reset > Clock::wall()), "{told:?}");
        let long_ago = format!("429\n{}", "work\n".repeat(LAST_LINES));
        assert!(after(&[]).sum(&FAILED, &long_ago).trouble.is_none());
    }

    // spec: L6
    // fault: 87
    #[test]
    fn the_agents_own_words_are_no_limit() {
        assert!(after(&[text()]).sum(&FAILED, "").trouble.is_none());
    }

    // spec: L6
    #[test]
    fn an_agent_repeats_until_it_gets_on() {
        assert!(after(&[error(ErrorKind::Network, false)]).is_repeating());
        assert!(after(&[limit(1)]).is_repeating());
        assert!(!after(&[error(ErrorKind::Model, false)]).is_repeating());
        for work in [text(), AgentEvent::ToolResult { ok: true, excerpt: String::new() }] {
            assert!(!after(&[error(ErrorKind::Overloaded, false), work]).is_repeating());
        }
    }

    // spec: L10
    #[test]
    fn a_lost_session_is_told_by_the_record_or_by_stderr() {
        let lost = "No conversation found with session ID: 9";
        assert!(after(&[]).is_session_lost(&format!("{lost}\n")));
        let record = AgentEvent::Error { kind: ErrorKind::Unknown, message: lost.to_owned(), fatal: true };
        assert!(after(&[record]).is_session_lost(""));
        assert!(!after(&[text()]).is_session_lost("fine\n"));
    }
}
