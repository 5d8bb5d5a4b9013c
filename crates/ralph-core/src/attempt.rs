//! The result of one attempt, and whether it succeeded. Exit code 0 alone is not a success, and a failure that cannot
//! improve is not retried.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::claim::ClaimReading;
use crate::event::UnixMillis;
use crate::text::describe_signal;

/// Everything the driver observed of one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptReport {
    pub ending: AttemptEnding,
    pub stream: OutputParseStatus,
    /// Lines that are not records of the expected format. They were skipped.
    pub unknown_records: u64,
    /// The last of those lines, for the reason.
    pub stray_line: String,
    /// How long the agent ran.
    pub lived_ms: u64,
    /// The fatal error that the agent reported in its output.
    pub error: Option<AgentReportedError>,
    /// The error of the requests that the agent was still retrying when it ended.
    pub repeating: Option<AgentReportedError>,
    pub reading: ClaimReading,
    pub spend: ModelSpend,
    /// The session id that the agent reported.
    pub session: Option<String>,
    /// Whether that session can be resumed.
    pub resumability: SessionResumability,
    pub model: Option<String>,
    /// How many messages the agent wrote, if its format separates them.
    pub messages: Option<u32>,
    /// The last lines of stderr.
    pub stderr_tail: String,
    pub leftovers: LeftoverProcesses,
    /// The tool calls that the agent was not allowed to make, each as one line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied_actions: Vec<String>,
    /// Whether files or the commit changed during the attempt; `None` if no snapshot was taken.
    #[serde(default, rename = "has_moved")]
    pub has_changed_files: Option<bool>,
}

/// Whether a session can be resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionResumability {
    /// The agent can resume it.
    Resumable,
    /// The agent has no sessions, or cannot resume them.
    None,
    /// The session that the agent should have resumed no longer exists.
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
        #[serde(rename = "hope")]
        retry: RetryAdvice,
    },
    /// The supervisor process was killed; the descendants of the agent were killed too.
    #[serde(rename = "unwatched")]
    SupervisorKilled,
    /// The agent and its descendants used more memory than allowed, so all of them were killed.
    OverMemory {
        used_mb: u64,
        limit_mb: u64,
    },
    /// The exit was not observed: ralph, or its supervising part, ended first.
    #[serde(rename = "unseen")]
    ExitNotObserved,
}

/// Whether a retry can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryAdvice {
    Retry,
    None,
}

/// Whether the agent's output was in the expected format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputParseStatus {
    Understood,
    /// No record was recognised, although there was output or should have been.
    NotUnderstood,
}

/// An error that the agent reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReportedError {
    pub kind: AgentErrorKind,
    pub message: String,
    /// When a rate limit ends, by the wall clock, if the provider reported it.
    pub reset_at: Option<UnixMillis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentErrorKind {
    /// Not logged in, or the key is wrong.
    Auth,
    RateLimit,
    /// The account has no credit left, or the agent reached a spending limit.
    Budget,
    /// The conversation exceeds the context window of the model.
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

    /// Returns whether the same attempt could succeed on a retry.
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

/// Tokens and cost of an attempt. `None` is unknown, which is not the same as zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSpend {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// Millionths of a dollar, so that sums stay exact; written as dollars.
    #[serde(rename = "cost_usd", with = "dollars")]
    pub cost_micros: Option<u64>,
}

/// Serialises costs as dollars.
pub(crate) mod dollars {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    const MICROS_PER_DOLLAR: f64 = 1_000_000.0;

    #[expect(clippy::cast_precision_loss, reason = "exact up to nine billion dollars")]
    pub(super) fn micros_to_dollars(micros: u64) -> f64 {
        micros as f64 / MICROS_PER_DOLLAR
    }

    pub(crate) fn serialize<S: Serializer>(micros: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        micros.map(micros_to_dollars).serialize(serializer)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative becomes zero")]
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        let dollars = Option::<f64>::deserialize(deserializer)?;
        Ok(dollars.map(|dollars| (dollars * MICROS_PER_DOLLAR + 0.5) as u64))
    }
}

impl ModelSpend {
    #[must_use]
    pub fn cost_usd(self) -> Option<f64> {
        self.cost_micros.map(dollars::micros_to_dollars)
    }

    /// Returns input plus output tokens, as far as they are known.
    #[must_use]
    pub fn total_tokens(self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (Some(input), Some(output)) => Some(input.saturating_add(output)),
            (known, None) | (None, known) => known,
        }
    }

    /// Adds known values; an unknown value counts as zero unless both are unknown.
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
    /// Adds values if both are known; a sum with an unknown value is unknown.
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

/// Processes that outlived the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftoverProcesses {
    /// Descendants that were still running and were killed.
    pub killed: u32,
    /// Descendants that could not be killed, as `name (pid)`.
    pub leaked: Vec<String>,
}

/// Whether an attempt succeeded, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptAssessment {
    Succeeded,
    Failed {
        reason: String,
        retry: RetryAdvice,
    },
    /// The provider refuses requests for some time. This does not count as a failure.
    RateLimited {
        reason: String,
        reset_at: Option<UnixMillis>,
    },
    /// The session cannot be resumed: it is lost, or exceeds the context window.
    SessionEnded {
        reason: String,
    },
}

/// An agent that ran for less time than this and did no work failed at startup.
const STARTUP_PERIOD_MS: u64 = 10_000;

/// Exit code of a shell that cannot execute a command.
const EXIT_NOT_EXECUTABLE: i32 = 126;
/// Exit code of a shell that cannot find a command.
const EXIT_COMMAND_NOT_FOUND: i32 = 127;

impl AttemptReport {
    /// Returns whether the agent ended soon and before it did any work.
    #[must_use]
    pub fn has_ended_at_startup(&self) -> bool {
        let has_worked = self.has_changed_files == Some(true)
            || !self.reading.final_text.trim().is_empty()
            || self.spend.output_tokens.is_some_and(|tokens| tokens > 0);
        self.lived_ms < STARTUP_PERIOD_MS && !has_worked
    }

    /// Assesses an attempt that ended by itself.
    #[must_use]
    pub fn assess(&self) -> AttemptAssessment {
        let exit_failure = match &self.ending {
            AttemptEnding::Exited { code: 0 } => None,
            AttemptEnding::Exited { code } => Some(describe_exit_failure(*code)),
            AttemptEnding::Signalled { signal } => Some((describe_signal_death(*signal), RetryAdvice::Retry)),
            AttemptEnding::SupervisorKilled => {
                Some(("the agent's supervisor was killed".to_string(), RetryAdvice::Retry))
            }
            AttemptEnding::ExitNotObserved => {
                Some(("the exit of the agent was not observed".to_string(), RetryAdvice::Retry))
            }
            AttemptEnding::NotStarted { why: reason, retry } => {
                return AttemptAssessment::Failed { reason: reason.clone(), retry: *retry };
            }
            // ralph killed the agent, so an error that the agent reported before is not the reason.
            AttemptEnding::OverMemory { used_mb, limit_mb } => {
                let reason = format!("the agent used {used_mb} MB, more than the {limit_mb} MB allowed");
                return AttemptAssessment::Failed { reason, retry: RetryAdvice::Retry };
            }
        };
        match (&self.error, exit_failure) {
            (Some(error), _) if self.resumability == SessionResumability::Lost => {
                AttemptAssessment::SessionEnded { reason: error.message.clone() }
            }
            (None, Some((reason, _))) if self.resumability == SessionResumability::Lost => {
                AttemptAssessment::SessionEnded { reason }
            }
            (Some(error), _) => error.assess(),
            (None, Some((reason, retry))) => {
                AttemptAssessment::Failed { reason: self.append_stray_line(reason), retry }
            }
            (None, None) => self.assess_output(),
        }
    }

    /// Assesses an attempt by its output alone, for an agent that ralph stopped after its final record.
    #[must_use]
    pub fn assess_output(&self) -> AttemptAssessment {
        match (&self.error, self.stream) {
            (Some(error), OutputParseStatus::Understood | OutputParseStatus::NotUnderstood) => error.assess(),
            (None, OutputParseStatus::NotUnderstood) => {
                AttemptAssessment::Failed { reason: self.describe_unreadable_output(), retry: RetryAdvice::Retry }
            }
            (None, OutputParseStatus::Understood) => AttemptAssessment::Succeeded,
        }
    }

    /// Assesses an attempt that ralph stopped because the agent only retried failed requests. The error of those
    /// requests decides, not the one reported at exit.
    #[must_use]
    pub fn assess_repeats(&self) -> AttemptAssessment {
        match self.repeating.as_ref().or(self.error.as_ref()) {
            Some(error) => error.assess().with_cause("the agent only retried failed requests"),
            None => AttemptAssessment::Failed {
                reason: "the agent only retried failed requests".to_string(),
                retry: RetryAdvice::Retry,
            },
        }
    }

    /// Assesses an attempt that ralph stopped because the agent was silent. If its last report was a rate limit, the
    /// run waits for it; any other silence is a timeout, which returns `None`.
    #[must_use]
    pub fn assess_silence(&self) -> Option<AttemptAssessment> {
        let limit = self.repeating.as_ref().filter(|error| error.kind == AgentErrorKind::RateLimit)?;
        Some(limit.assess().with_cause("the agent was rate limited and then silent for too long"))
    }

    /// Assesses an attempt that ralph stopped because the agent did not open a session in time.
    #[must_use]
    pub fn assess_handshake(&self) -> AttemptAssessment {
        let cause = "the agent did not open a session in time";
        match &self.error {
            Some(error) => error.assess().with_cause(cause),
            None => AttemptAssessment::Failed { reason: cause.to_string(), retry: RetryAdvice::Retry },
        }
    }

    /// Assesses an attempt that ralph stopped because the provider rejected the agent's login several times. The agent's
    /// message about that decides, not what it reports about the stop.
    #[must_use]
    pub fn assess_rejected_login(&self) -> AttemptAssessment {
        let cause = "the provider rejected the agent's login";
        let reported = [&self.error, &self.repeating].into_iter().flatten();
        match reported.into_iter().find(|error| error.kind == AgentErrorKind::Auth) {
            Some(error) => error.assess().with_cause(cause),
            None => AttemptAssessment::Failed { reason: cause.to_string(), retry: RetryAdvice::None },
        }
    }

    fn describe_unreadable_output(&self) -> String {
        let problem = match self.unknown_records {
            0 => "it printed no records".to_string(),
            1 => "its only line is not a record of the expected format".to_string(),
            lines => format!("none of its {lines} lines is a record of the expected format"),
        };
        let reason = format!("the agent's output was not understood: {problem}; was the agent updated?");
        match self.stray_line.as_str() {
            "" => reason,
            line => format!("{reason} The last line is: {line}"),
        }
    }

    /// Appends the last line that the agent printed instead of records, which is often an error message.
    fn append_stray_line(&self, reason: String) -> String {
        match (self.stream, self.stray_line.as_str()) {
            (OutputParseStatus::Understood, _) | (OutputParseStatus::NotUnderstood, "") => reason,
            (OutputParseStatus::NotUnderstood, line) => format!("{reason}: {line}"),
        }
    }
}

impl AgentReportedError {
    fn assess(&self) -> AttemptAssessment {
        let reason = self.message.clone();
        match self.kind {
            AgentErrorKind::RateLimit => AttemptAssessment::RateLimited { reason, reset_at: self.reset_at },
            AgentErrorKind::Context => AttemptAssessment::SessionEnded { reason },
            AgentErrorKind::Auth
            | AgentErrorKind::Budget
            | AgentErrorKind::Model
            | AgentErrorKind::Overloaded
            | AgentErrorKind::Network
            | AgentErrorKind::Format
            | AgentErrorKind::Crash
            | AgentErrorKind::Unknown => AttemptAssessment::Failed { reason, retry: self.kind.retry_advice() },
        }
    }
}

impl AttemptAssessment {
    /// Prepends the reason why ralph stopped the agent.
    fn with_cause(self, cause: &str) -> Self {
        match self {
            Self::Succeeded => Self::Succeeded,
            Self::Failed { reason, retry } => Self::Failed { reason: format!("{cause}: {reason}"), retry },
            Self::RateLimited { reason, reset_at } => {
                Self::RateLimited { reason: format!("{cause}: {reason}"), reset_at }
            }
            Self::SessionEnded { reason } => Self::SessionEnded { reason: format!("{cause}: {reason}") },
        }
    }
}

/// Describes a non-zero exit code. A command that a shell could not start is not retried.
fn describe_exit_failure(code: i32) -> (String, RetryAdvice) {
    let exit = format!("the agent exited with code {code}");
    let from_shell =
        |problem: &str| format!("{exit}: shells use this code if {problem}; fix the command that starts the agent");
    match code {
        EXIT_NOT_EXECUTABLE => (from_shell("a command cannot be executed"), RetryAdvice::None),
        EXIT_COMMAND_NOT_FOUND => (from_shell("a command is not found"), RetryAdvice::None),
        _ => (exit, RetryAdvice::Retry),
    }
}

fn describe_signal_death(signal: i32) -> String {
    let death = format!("the agent was killed by {}", describe_signal(signal));
    match signal {
        SIGKILL => format!("{death}; the system does this if it runs out of memory"),
        _ => death,
    }
}

const SIGKILL: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::tests::builders::quiet_report;

    // fault: 40
    #[test]
    fn unreadable_output_is_reported_with_its_line_count() {
        let assess = |unknown_records| {
            let report = AttemptReport { stream: OutputParseStatus::NotUnderstood, unknown_records, ..quiet_report() };
            let assessment = report.assess();
            assert!(matches!(assessment, AttemptAssessment::Failed { retry: RetryAdvice::Retry, .. }));
            format!("{assessment:?}")
        };
        assert!(assess(0).contains("not understood: it printed no records"));
        assert!(assess(1).contains("its only line is not a record"));
        assert!(assess(7).contains("none of its 7 lines is a record of the expected format"));
    }

    // fault: 40
    #[test]
    fn text_printed_in_place_of_records_becomes_the_reason() {
        let assess = |ending, stream| {
            let stray_line = "error: no provider".to_string();
            format!("{:?}", AttemptReport { ending, stream, stray_line, unknown_records: 1, ..quiet_report() }.assess())
        };
        let failed = assess(AttemptEnding::Exited { code: 1 }, OutputParseStatus::NotUnderstood);
        assert!(failed.contains("the agent exited with code 1: error: no provider"), "{failed}");
        let odd = assess(AttemptEnding::Exited { code: 0 }, OutputParseStatus::NotUnderstood);
        assert!(odd.contains("was the agent updated? The last line is: error: no provider"), "{odd}");
        let other = assess(AttemptEnding::Exited { code: 1 }, OutputParseStatus::Understood);
        assert!(!other.contains("no provider"), "its records decide: {other}");
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
