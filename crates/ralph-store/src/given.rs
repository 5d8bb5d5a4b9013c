//! What a run was given when it was stored: one statement stores it, checksums hold it.
use ralph_core::state::Loop;

use super::batch::{Statement, Value, sql};
use super::sum::Part::{Number, Text};
use super::sum::{sum, verify};

#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) id: &'a str,
    pub(super) kind: &'a str,
    pub(super) agent: &'a str,
    pub(super) promise: &'a str,
    pub(super) max_iterations: i64,
    pub(super) started_at: i64,
    /// JSON.
    pub(super) settings: &'a str,
}

/// What is kept of a loop beside it, to be added up over many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Toll {
    /// Unknown where the loop cannot be read.
    pub(super) worked_ms: Option<u64>,
    pub(super) unpriced: u32,
}

impl Toll {
    pub(super) const UNKNOWN: Self = Self { worked_ms: None, unpriced: 0 };
}

impl From<&Loop> for Toll {
    fn from(state: &Loop) -> Self {
        Self { worked_ms: Some(state.worked.ms()), unpriced: state.unpriced }
    }
}

/// Who drives a run, and under which number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owned<'a> {
    pub(super) fence: i64,
    /// JSON.
    pub(super) owner: Option<&'a str>,
}

impl Owned<'_> {
    /// No engine of this store drives it.
    pub(super) const BY_NOBODY: Self = Self { fence: 0, owner: None };
}

impl Given<'_> {
    /// Returns the statement that stores a run with its loop, to be followed by so many facts.
    pub(super) fn insert(&self, (state, toll): (&Value, Toll), facts: i64, owned: Owned<'_>) -> Statement {
        let [kind, agent, promise, settings] =
            [self.kind, self.agent, self.promise, self.settings].map(Value::from);
        let stored = Given {
            kind: kind.text(),
            agent: agent.text(),
            promise: promise.text(),
            settings: settings.text(),
            ..*self
        };
        let (sum, settings_sum) = (stored.sum(), settings_sum(stored.settings));
        sql!(
            "INSERT INTO runs
                (id, kind, status, agent, promise, max_iterations, started_at, settings, sum, settings_sum,
                 loop, facts, loop_sum, fence, owner, worked_ms, unpriced)
             VALUES (?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            self.id,
            kind,
            agent,
            promise,
            self.max_iterations,
            self.started_at,
            settings,
            sum,
            settings_sum,
            state.clone(),
            facts,
            loop_sum(state.text(), facts),
            owned.fence,
            owned.owner,
            toll.worked_ms,
            toll.unpriced
        )
    }

    /// Holds what was read against its two checksums.
    pub(super) fn verify(&self, stored: Option<i64>, settings: Option<i64>) -> Result<(), sqlx::Error> {
        verify(stored, self.sum(), "what a run was given")?;
        verify(settings, settings_sum(self.settings), "what a run was told")
    }

    fn sum(&self) -> i64 {
        sum(&[
            Text(self.id),
            Text(self.kind),
            Text(self.agent),
            Text(self.promise),
            Number(self.max_iterations),
            Number(self.started_at),
        ])
    }
}

/// Returns the checksum of the settings, which may change when a run is taken over.
pub(super) fn settings_sum(settings: &str) -> i64 {
    sum(&[Text(settings)])
}

/// Returns the checksum of a loop after so many facts.
pub(super) fn loop_sum(state: &str, facts: i64) -> i64 {
    sum(&[Text(state), Number(facts)])
}

/// Returns the checksum of a fact in its place.
pub(super) fn fact_sum(run: &str, (seq, at): (i64, i64), body: &str) -> i64 {
    sum(&[Text(run), Number(seq), Number(at), Text(body)])
}
