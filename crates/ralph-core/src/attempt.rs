//! What one start of the agent came to, and whether that was a good attempt. Exit 0 alone is no success, and
//! a failure that cannot improve is not tried again.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::claim::Reading;
use crate::event::Millis;
use crate::text::signal_words;

/// Everything the driver saw of one attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptReport {
    pub ending: Ending,
    pub stream: Stream,
    /// Lines that are no record of the expected format; they were passed over.
    pub unknown_records: u64,
    /// The last of those lines, for people.
    pub stray_line: String,
    /// How long the agent lived.
    pub lived_ms: u64,
    /// The fatal error that the agent's own output reported.
    pub trouble: Option<Trouble>,
    /// The error over which the agent was repeating requests when it ended, without having got on since.
    pub repeating: Option<Trouble>,
    pub reading: Reading,
    pub spend: Spend,
    /// The agent's own name for its session.
    pub session: Option<String>,
    /// What becomes of that session.
    pub afterlife: Afterlife,
    pub model: Option<String>,
    /// How many messages the agent wrote, where its format parts them.
    pub messages: Option<u32>,
    /// The last lines of stderr, for people.
    pub stderr_tail: String,
    pub leftovers: Leftovers,
    /// Whether files or the commit changed while it worked; `None` where nobody looked.
    #[serde(default)]
    pub has_moved: Option<bool>,
}

/// Whether a session can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Afterlife {
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
pub enum Ending {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    NotStarted {
        why: String,
        hope: Hope,
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
pub enum Hope {
    Retry,
    None,
}

/// Whether the agent's output was in the format that it should speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    Understood,
    /// Output came, or should have come, but not one record was recognised.
    NotUnderstood,
}

/// An error that the agent reported about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    pub kind: ErrorKind,
    pub message: String,
    /// When a rate limit is over, by the clock on the wall, if the provider told.
    pub reset_at: Option<Millis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
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

impl ErrorKind {
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
    pub fn hope(self) -> Hope {
        match self {
            Self::Auth | Self::Budget | Self::Model => Hope::None,
            Self::RateLimit
            | Self::Context
            | Self::Overloaded
            | Self::Network
            | Self::Format
            | Self::Crash
            | Self::Unknown => Hope::Retry,
        }
    }
}

/// What an attempt used. Unknown is unknown, never zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spend {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// Millionths of a dollar, so that sums stay exact; written as dollars.
    #[serde(rename = "cost_usd", with = "dollars")]
    pub cost_micros: Option<u64>,
}

/// Money is stored and printed in dollars, as everybody writes it.
mod dollars {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    const MICROS: f64 = 1_000_000.0;

    #[expect(clippy::cast_precision_loss, reason = "exact up to nine billion dollars")]
    pub(super) fn of_micros(micros: u64) -> f64 {
        micros as f64 / MICROS
    }

    pub(super) fn serialize<S: Serializer>(micros: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        micros.map(of_micros).serialize(to)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative becomes zero")]
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let dollars = Option::<f64>::deserialize(from)?;
        Ok(dollars.map(|dollars| (dollars * MICROS + 0.5) as u64))
    }
}

impl Spend {
    #[must_use]
    pub fn dollars(self) -> Option<f64> {
        self.cost_micros.map(dollars::of_micros)
    }

    /// Returns the tokens in and out together, as far as they are known.
    #[must_use]
    pub fn tokens(self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (Some(input), Some(output)) => Some(input.saturating_add(output)),
            (known, None) | (None, known) => known,
        }
    }

    /// Adds what is known; a side that is unknown changes nothing.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (known, None) | (None, known) => known,
            }
        }
        Self {
            input_tokens: add(self.input_tokens, other.input_tokens),
            output_tokens: add(self.output_tokens, other.output_tokens),
            cost_micros: add(self.cost_micros, other.cost_micros),
        }
    }
}

impl Spend {
    /// Adds both where both are known; a sum with something unknown is unknown.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
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
pub struct Leftovers {
    /// Descendants that outlived the agent and were killed.
    pub killed: u32,
    /// Descendants that could not be killed, as `name (pid)`.
    pub leaked: Vec<String>,
}

/// What an attempt is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    Good,
    Failed {
        why: String,
        hope: Hope,
    },
    /// The provider refuses requests for some time. That is nobody's failure.
    Limited {
        why: String,
        reset_at: Option<Millis>,
    },
    /// The session cannot go on: it is lost, or no longer fits the model.
    SessionOver {
        why: String,
    },
}

/// An agent that lived no longer than this has not begun to work.
const START_MS: u64 = 10_000;

/// What a shell exits with when it can find a command but not execute it, and when it cannot find it.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

impl AttemptReport {
    /// Tells whether the agent ended before it can have done anything.
    #[must_use]
    pub fn ended_at_start(&self) -> bool {
        self.lived_ms < START_MS
    }

    /// Judges an attempt that ended by itself.
    #[must_use]
    pub fn judge(&self) -> Judgement {
        let exit_fault = match &self.ending {
            Ending::Exited { code: 0 } => None,
            Ending::Exited { code } => Some(exit_fault(*code)),
            Ending::Signalled { signal } => Some((death_by(*signal), Hope::Retry)),
            Ending::Unwatched => Some(("the agent's supervisor was killed".to_string(), Hope::Retry)),
            Ending::Unseen => Some(("nobody saw how the agent ended".to_string(), Hope::Retry)),
            Ending::NotStarted { why, hope } => {
                return Judgement::Failed { why: why.clone(), hope: *hope };
            }
            // We ended it ourselves and know why; what it reported before is not what ended it.
            Ending::OverMemory { used_mb, limit_mb } => {
                let why = format!("the agent used {used_mb} MB, more than the {limit_mb} MB allowed");
                return Judgement::Failed { why, hope: Hope::Retry };
            }
        };
        match (&self.trouble, exit_fault) {
            (Some(trouble), _) if self.afterlife == Afterlife::Lost => {
                Judgement::SessionOver { why: trouble.message.clone() }
            }
            (None, Some((why, _))) if self.afterlife == Afterlife::Lost => Judgement::SessionOver { why },
            (Some(trouble), _) => trouble.judge(),
            (None, Some((why, hope))) => Judgement::Failed { why: self.with_stray_line(why), hope },
            (None, None) => self.judge_output(),
        }
    }

    /// Judges an attempt that ralph ended after the agent's final record: how it exited means nothing.
    #[must_use]
    pub fn judge_output(&self) -> Judgement {
        match (&self.trouble, self.stream) {
            (Some(trouble), Stream::Understood | Stream::NotUnderstood) => trouble.judge(),
            (None, Stream::NotUnderstood) => {
                Judgement::Failed { why: self.not_understood(), hope: Hope::Retry }
            }
            (None, Stream::Understood) => Judgement::Good,
        }
    }

    /// Judges an attempt that ralph ended because the agent only repeated requests: the error that it could not
    /// overcome decides, whatever it said of its end.
    #[must_use]
    pub fn judge_repeats(&self) -> Judgement {
        match self.repeating.as_ref().or(self.trouble.as_ref()) {
            Some(trouble) => trouble.judge().because("the agent only repeated failed requests"),
            None => Judgement::Failed {
                why: "the agent only repeated failed requests".to_string(),
                hope: Hope::Retry,
            },
        }
    }

    /// Judges an attempt that ralph ended because the agent was silent. Where its last word was that a limit refused it,
    /// it waits for that; any other silence is a time-out, which has no judgement.
    #[must_use]
    pub fn judge_silence(&self) -> Option<Judgement> {
        let limit = self.repeating.as_ref().filter(|trouble| trouble.kind == ErrorKind::RateLimit)?;
        Some(limit.judge().because("the agent was refused, and silent for too long"))
    }

    /// Judges an attempt that ralph ended because the agent opened no session: why it did not is known as far as it told.
    #[must_use]
    pub fn judge_handshake(&self) -> Judgement {
        let cause = "the agent opened no session in time";
        match &self.trouble {
            Some(trouble) => trouble.judge().because(cause),
            None => Judgement::Failed { why: cause.to_string(), hope: Hope::Retry },
        }
    }

    fn not_understood(&self) -> String {
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
    fn with_stray_line(&self, why: String) -> String {
        match (self.stream, self.stray_line.as_str()) {
            (Stream::Understood, _) | (Stream::NotUnderstood, "") => why,
            (Stream::NotUnderstood, line) => format!("{why}: {line}"),
        }
    }
}

impl Trouble {
    fn judge(&self) -> Judgement {
        let why = self.message.clone();
        match self.kind {
            ErrorKind::RateLimit => Judgement::Limited { why, reset_at: self.reset_at },
            ErrorKind::Context => Judgement::SessionOver { why },
            ErrorKind::Auth
            | ErrorKind::Budget
            | ErrorKind::Model
            | ErrorKind::Overloaded
            | ErrorKind::Network
            | ErrorKind::Format
            | ErrorKind::Crash
            | ErrorKind::Unknown => Judgement::Failed { why, hope: self.kind.hope() },
        }
    }
}

impl Judgement {
    /// Says first what ralph saw of it.
    fn because(self, cause: &str) -> Self {
        match self {
            Self::Good => Self::Good,
            Self::Failed { why, hope } => Self::Failed { why: format!("{cause}: {why}"), hope },
            Self::Limited { why, reset_at } => Self::Limited { why: format!("{cause}: {why}"), reset_at },
            Self::SessionOver { why } => Self::SessionOver { why: format!("{cause}: {why}") },
        }
    }
}

/// A command that a shell could not start is not there a second later either.
fn exit_fault(code: i32) -> (String, Hope) {
    let said = format!("the agent exited with code {code}");
    let shell = |what: &str| format!("{said}: a shell says so when {what}; correct what starts the agent");
    match code {
        NOT_EXECUTABLE => (shell("a command cannot be executed"), Hope::None),
        NOT_FOUND => (shell("a command was not found"), Hope::None),
        _ => (said, Hope::Retry),
    }
}

fn death_by(signal: i32) -> String {
    let words = format!("the agent was killed by {}", signal_words(signal));
    match signal {
        SIGKILL => format!("{words}; the system does that when memory runs out"),
        _ => words,
    }
}

const SIGKILL: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::scenes::quiet;

    // fault: 40
    #[test]
    fn an_output_that_was_not_understood_is_told_with_its_lines() {
        let words = |unknown_records| {
            let report = AttemptReport { stream: Stream::NotUnderstood, unknown_records, ..quiet() };
            let judgement = report.judge();
            assert!(matches!(judgement, Judgement::Failed { hope: Hope::Retry, .. }), "{judgement:?}");
            format!("{judgement:?}")
        };
        assert!(words(0).contains("not understood: it printed no record at all"));
        assert!(words(1).contains("its only line is no record"));
        assert!(words(7).contains("none of its 7 lines is a record of the expected format"));
    }

    // fault: 40
    #[test]
    fn what_an_agent_prints_in_place_of_records_is_told_as_the_reason() {
        let words = |ending, stream| {
            let stray_line = "error: no provider".to_string();
            format!(
                "{:?}",
                AttemptReport { ending, stream, stray_line, unknown_records: 1, ..quiet() }.judge()
            )
        };
        let failed = words(Ending::Exited { code: 1 }, Stream::NotUnderstood);
        assert!(failed.contains("the agent exited with code 1: error: no provider"), "{failed}");
        let odd = words(Ending::Exited { code: 0 }, Stream::NotUnderstood);
        assert!(odd.contains("was the agent updated? The last line is: error: no provider"), "{odd}");
        let other = words(Ending::Exited { code: 1 }, Stream::Understood);
        assert!(!other.contains("no provider"), "it speaks by its records: {other}");
    }

    #[test]
    fn unknown_cost_stays_unknown_and_known_cost_adds_up() {
        let unknown = Spend::default();
        let known = Spend { cost_micros: Some(5), ..Spend::default() };
        assert_eq!(unknown.plus(unknown).cost_micros, None);
        assert_eq!(known.plus(unknown).cost_micros, Some(5));
        assert_eq!(known.plus(known).cost_micros, Some(10));
    }
}
