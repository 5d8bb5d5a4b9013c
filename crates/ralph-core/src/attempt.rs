//! What one start of the agent came to, and whether that was a good attempt. Exit 0 alone is no success, and
//! a failure that cannot improve is not tried again.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::claim::ClaimReading;
use crate::event::UnixMillis;
use crate::text::describe_signal;

/// Everything the driver saw of one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptReport {
    pub ending: AttemptEnding,
    pub stream: OutputParseStatus,
    /// Lines that are no record of the expected format; they were passed over.
    pub unknown_records: u64,
    /// The last of those lines, for people.
    pub stray_line: String,
    /// How long the agent lived.
    pub lived_ms: u64,
    /// The fatal error that the agent's own output reported.
    pub error: Option<AgentReportedError>,
    /// The error over which the agent was repeating requests when it ended, without having got on since.
    pub repeating: Option<AgentReportedError>,
    pub reading: ClaimReading,
    pub spend: ModelSpend,
    /// The agent's own name for its session.
    pub session: Option<String>,
    /// What becomes of that session.
    pub resumability: SessionResumability,
    pub model: Option<String>,
    /// How many messages the agent wrote, where its format parts them.
    pub messages: Option<u32>,
    /// The last lines of stderr, for people.
    pub stderr_tail: String,
    pub leftovers: LeftoverProcesses,
    /// Whether files or the commit changed while it worked; `None` where nobody looked.
    #[serde(default)]
    pub has_moved: Option<bool>,
}

/// Whether a session can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionResumability {
    /// The agent can resume it.
    Resumable,
    /// The agent keeps no sessions, or cannot resume them.
    None,
    /// It was asked to resume one that is not there any more.
    Lost,
}

/// How the agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum AttemptEnding {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    NotStarted {
        why: String,
        hope: RetryAdvice,
    },
    /// The process that watches over the agent was killed; the tree was swept.
    Unwatched,
    /// The agent and its descendants together used more memory than allowed, so the whole tree was killed.
    OverMemory {
        used_mb: u64,
        limit_mb: u64,
    },
    /// Nobody saw the end: ralph, or the part of it that watched, ended first.
    Unseen,
}

/// Whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAdvice {
    Retry,
    None,
}

/// Whether the agent's output was in the format that it should speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputParseStatus {
    Understood,
    /// Output came, or should have come, but not one record was recognised.
    NotUnderstood,
}

/// An error that the agent reported about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReportedError {
    pub kind: AgentErrorKind,
    pub message: String,
    /// When a rate limit is over, by the clock on the wall, if the provider told.
    pub reset_at: Option<UnixMillis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentErrorKind {
    /// Not logged in, or the key is wrong.
    Auth,
    RateLimit,
    /// The account is out of money, or the agent's own spending limit was reached.
    Budget,
    /// The conversation no longer fits the model.
    Context,
    /// The model does not exist.
    Model,
    Overloaded,
    Network,
    Format,
    Crash,
    Unknown,
}

impl AgentErrorKind {
    /// Returns the name used in events and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::Budget => "budget",
            Self::Context => "context",
            Self::Model => "model",
            Self::Overloaded => "overloaded",
            Self::Network => "network",
            Self::Format => "format",
            Self::Crash => "crash",
            Self::Unknown => "unknown",
        }
    }

    /// Tells whether the same start could go better.
    #[must_use]
    pub fn retry_advice(self) -> RetryAdvice {
        match self {
            Self::Auth | Self::Budget | Self::Model => RetryAdvice::None,
            Self::RateLimit
            | Self::Context
            | Self::Overloaded
            | Self::Network
            | Self::Format
            | Self::Crash
            | Self::Unknown => RetryAdvice::Retry,
        }
    }
}

/// What an attempt used. Unknown is unknown, never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSpend {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// Millionths of a dollar, so that sums stay exact; written as dollars.
    #[serde(rename = "cost_usd", with = "dollars")]
    pub cost_micros: Option<u64>,
}

/// Money is stored and printed in dollars, as everybody writes it.
mod dollars {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    const MICROS_PER_DOLLAR: f64 = 1_000_000.0;

    #[expect(clippy::cast_precision_loss, reason = "exact up to nine billion dollars")]
    pub(super) fn micros_to_dollars(micros: u64) -> f64 {
        micros as f64 / MICROS_PER_DOLLAR
    }

    pub(super) fn serialize<S: Serializer>(micros: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        micros.map(micros_to_dollars).serialize(to)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative becomes zero")]
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let dollars = Option::<f64>::deserialize(from)?;
        Ok(dollars.map(|dollars| (dollars * MICROS_PER_DOLLAR + 0.5) as u64))
    }
}

impl ModelSpend {
    #[must_use]
    pub fn cost_usd(self) -> Option<f64> {
        self.cost_micros.map(dollars::micros_to_dollars)
    }

    /// Returns the tokens in and out together, as far as they are known.
    #[must_use]
    pub fn total_tokens(self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (Some(input), Some(output)) => Some(input.saturating_add(output)),
            (known, None) | (None, known) => known,
        }
    }

    /// Adds what is known; a side that is unknown changes nothing.
    #[must_use]
    pub fn add_known(self, other: Self) -> Self {
        fn add_optional(a: Option<u64>, b: Option<u64>) -> Option<u64> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (known, None) | (None, known) => known,
            }
        }
        Self {
            input_tokens: add_optional(self.input_tokens, other.input_tokens),
            output_tokens: add_optional(self.output_tokens, other.output_tokens),
            cost_micros: add_optional(self.cost_micros, other.cost_micros),
        }
    }
}

impl ModelSpend {
    /// Adds both where both are known; a sum with something unknown is unknown.
    #[must_use]
    pub fn add_strict(self, other: Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        Self {
            input_tokens: add(self.input_tokens, other.input_tokens),
            output_tokens: add(self.output_tokens, other.output_tokens),
            cost_micros: add(self.cost_micros, other.cost_micros),
        }
    }
}

/// What the agent left behind when it ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftoverProcesses {
    /// Descendants that outlived the agent and were killed.
    pub killed: u32,
    /// Descendants that could not be killed, as `name (pid)`.
    pub leaked: Vec<String>,
}

/// What an attempt is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptAssessment {
    Succeeded,
    Failed {
        reason: String,
        retry: RetryAdvice,
    },
    /// The provider refuses requests for some time. That is nobody's failure.
    RateLimited {
        reason: String,
        reset_at: Option<UnixMillis>,
    },
    /// The session cannot go on: it is lost, or no longer fits the model.
    SessionEnded {
        reason: String,
    },
}

/// An agent that lived no longer than this has not begun to work.
const STARTUP_PERIOD_MS: u64 = 10_000;

/// What a shell exits with when it can find a command but not execute it, and when it cannot find it.
const EXIT_NOT_EXECUTABLE: i32 = 126;
const EXIT_COMMAND_NOT_FOUND: i32 = 127;

impl AttemptReport {
    /// Tells whether the agent ended before it can have done anything.
    #[must_use]
    pub fn has_ended_at_startup(&self) -> bool {
        self.lived_ms < STARTUP_PERIOD_MS
    }

    /// Judges an attempt that ended by itself.
    #[must_use]
    pub fn assess(&self) -> AttemptAssessment {
        let exit_failure = match &self.ending {
            AttemptEnding::Exited { code: 0 } => None,
            AttemptEnding::Exited { code } => Some(describe_exit_failure(*code)),
            AttemptEnding::Signalled { signal } => Some((describe_signal_death(*signal), RetryAdvice::Retry)),
            AttemptEnding::Unwatched => Some(("the agent's supervisor was killed".to_string(), RetryAdvice::Retry)),
            AttemptEnding::Unseen => Some(("nobody saw how the agent ended".to_string(), RetryAdvice::Retry)),
            AttemptEnding::NotStarted { why, hope } => {
                return AttemptAssessment::Failed { reason: why.clone(), retry: *hope };
            }
            // We ended it ourselves and know why; what it reported before is not what ended it.
            AttemptEnding::OverMemory { used_mb, limit_mb } => {
                let why = format!("the agent used {used_mb} MB, more than the {limit_mb} MB allowed");
                return AttemptAssessment::Failed { reason: why, retry: RetryAdvice::Retry };
            }
        };
        match (&self.error, exit_failure) {
            (Some(trouble), _) if self.resumability == SessionResumability::Lost => {
                AttemptAssessment::SessionEnded { reason: trouble.message.clone() }
            }
            (None, Some((why, _))) if self.resumability == SessionResumability::Lost => {
                AttemptAssessment::SessionEnded { reason: why }
            }
            (Some(trouble), _) => trouble.assess(),
            (None, Some((why, hope))) => AttemptAssessment::Failed { reason: self.append_stray_line(why), retry: hope },
            (None, None) => self.assess_output(),
        }
    }

    /// Judges an attempt that ralph ended after the agent's final record: how it exited means nothing.
    #[must_use]
    pub fn assess_output(&self) -> AttemptAssessment {
        match (&self.error, self.stream) {
            (Some(trouble), OutputParseStatus::Understood | OutputParseStatus::NotUnderstood) => trouble.assess(),
            (None, OutputParseStatus::NotUnderstood) => {
                AttemptAssessment::Failed { reason: self.describe_unreadable_output(), retry: RetryAdvice::Retry }
            }
            (None, OutputParseStatus::Understood) => AttemptAssessment::Succeeded,
        }
    }

    /// Judges an attempt that ralph ended because the agent only repeated requests: the error that it could not
    /// overcome decides, whatever it said of its end.
    #[must_use]
    pub fn assess_repeats(&self) -> AttemptAssessment {
        match self.repeating.as_ref().or(self.error.as_ref()) {
            Some(trouble) => trouble.assess().with_cause("the agent only repeated failed requests"),
            None => AttemptAssessment::Failed {
                reason: "the agent only repeated failed requests".to_string(),
                retry: RetryAdvice::Retry,
            },
        }
    }

    /// Judges an attempt that ralph ended because the agent was silent. Where its last word was that a limit refused it,
    /// it waits for that; any other silence is a time-out, which has no judgement.
    #[must_use]
    pub fn assess_silence(&self) -> Option<AttemptAssessment> {
        let limit = self.repeating.as_ref().filter(|trouble| trouble.kind == AgentErrorKind::RateLimit)?;
        Some(limit.assess().with_cause("the agent was refused, and silent for too long"))
    }

    /// Judges an attempt that ralph ended because the agent opened no session: why it did not is known as far as it told.
    #[must_use]
    pub fn assess_handshake(&self) -> AttemptAssessment {
        let cause = "the agent opened no session in time";
        match &self.error {
            Some(trouble) => trouble.assess().with_cause(cause),
            None => AttemptAssessment::Failed { reason: cause.to_string(), retry: RetryAdvice::Retry },
        }
    }

    fn describe_unreadable_output(&self) -> String {
        let what = match self.unknown_records {
            0 => "it printed no record at all".to_string(),
            1 => "its only line is no record of the expected format".to_string(),
            lines => format!("none of its {lines} lines is a record of the expected format"),
        };
        let why = format!("the agent's output was not understood: {what}; was the agent updated?");
        match self.stray_line.as_str() {
            "" => why,
            line => format!("{why} The last line is: {line}"),
        }
    }

    /// Adds what the agent printed in place of records: that may be why it gave up.
    fn append_stray_line(&self, reason: String) -> String {
        match (self.stream, self.stray_line.as_str()) {
            (OutputParseStatus::Understood, _) | (OutputParseStatus::NotUnderstood, "") => reason,
            (OutputParseStatus::NotUnderstood, line) => format!("{reason}: {line}"),
        }
    }
}

impl AgentReportedError {
    fn assess(&self) -> AttemptAssessment {
        let why = self.message.clone();
        match self.kind {
            AgentErrorKind::RateLimit => AttemptAssessment::RateLimited { reason: why, reset_at: self.reset_at },
            AgentErrorKind::Context => AttemptAssessment::SessionEnded { reason: why },
            AgentErrorKind::Auth
            | AgentErrorKind::Budget
            | AgentErrorKind::Model
            | AgentErrorKind::Overloaded
            | AgentErrorKind::Network
            | AgentErrorKind::Format
            | AgentErrorKind::Crash
            | AgentErrorKind::Unknown => AttemptAssessment::Failed { reason: why, retry: self.kind.retry_advice() },
        }
    }
}

impl AttemptAssessment {
    /// Says first what ralph saw of it.
    fn with_cause(self, cause: &str) -> Self {
        match self {
            Self::Succeeded => Self::Succeeded,
            Self::Failed { reason: why, retry: hope } => {
                Self::Failed { reason: format!("{cause}: {why}"), retry: hope }
            }
            Self::RateLimited { reason: why, reset_at } => {
                Self::RateLimited { reason: format!("{cause}: {why}"), reset_at }
            }
            Self::SessionEnded { reason: why } => Self::SessionEnded { reason: format!("{cause}: {why}") },
        }
    }
}

/// A command that a shell could not start is not there a second later either.
fn describe_exit_failure(code: i32) -> (String, RetryAdvice) {
    let said = format!("the agent exited with code {code}");
    let shell = |what: &str| format!("{said}: a shell says so when {what}; correct what starts the agent");
    match code {
        EXIT_NOT_EXECUTABLE => (shell("a command cannot be executed"), RetryAdvice::None),
        EXIT_COMMAND_NOT_FOUND => (shell("a command was not found"), RetryAdvice::None),
        _ => (said, RetryAdvice::Retry),
    }
}

fn describe_signal_death(signal: i32) -> String {
    let words = format!("the agent was killed by {}", describe_signal(signal));
    match signal {
        SIGKILL => format!("{words}; the system does that when memory runs out"),
        _ => words,
    }
}

const SIGKILL: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::test_builders::quiet_report;

    // fault: 40
    #[test]
    fn unreadable_output_is_reported_with_its_line_count() {
        let words = |unknown_records| {
            let report = AttemptReport { stream: OutputParseStatus::NotUnderstood, unknown_records, ..quiet_report() };
            let judgement = report.assess();
            assert!(matches!(judgement, AttemptAssessment::Failed { retry: RetryAdvice::Retry, .. }), "{judgement:?}");
            format!("{judgement:?}")
        };
        assert!(words(0).contains("not understood: it printed no record at all"));
        assert!(words(1).contains("its only line is no record"));
        assert!(words(7).contains("none of its 7 lines is a record of the expected format"));
    }

    // fault: 40
    #[test]
    fn text_printed_in_place_of_records_becomes_the_reason() {
        let words = |ending, stream| {
            let stray_line = "error: no provider".to_string();
            format!("{:?}", AttemptReport { ending, stream, stray_line, unknown_records: 1, ..quiet_report() }.assess())
        };
        let failed = words(AttemptEnding::Exited { code: 1 }, OutputParseStatus::NotUnderstood);
        assert!(failed.contains("the agent exited with code 1: error: no provider"), "{failed}");
        let odd = words(AttemptEnding::Exited { code: 0 }, OutputParseStatus::NotUnderstood);
        assert!(odd.contains("was the agent updated? The last line is: error: no provider"), "{odd}");
        let other = words(AttemptEnding::Exited { code: 1 }, OutputParseStatus::Understood);
        assert!(!other.contains("no provider"), "it speaks by its records: {other}");
    }

    #[test]
    fn unknown_cost_stays_unknown_and_known_cost_adds_up() {
        let unknown = ModelSpend::default();
        let known = ModelSpend { cost_micros: Some(5), ..ModelSpend::default() };
        assert_eq!(unknown.add_known(unknown).cost_micros, None);
        assert_eq!(known.add_known(unknown).cost_micros, Some(5));
        assert_eq!(known.add_known(known).cost_micros, Some(10));
    }
}
