//! The statement that inserts a run, and the checksums of its row.
use crate::driver::DriverError;
use ralph_core::loop_state::LoopState;

use crate::driver::statement::{SqlStatement, SqlValue, sql};
use crate::journal::checksum::ChecksumPart::{Number, Text};
use crate::journal::checksum::{checksum, verify_checksum};

#[derive(Debug, Clone, Copy)]
pub(crate) struct RunHeaderRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) promise: &'a str,
    pub(crate) max_iterations: i64,
    pub(crate) started_at: i64,
    /// JSON.
    pub(crate) settings: &'a str,
}

/// Totals of a loop in separate columns, so that statistics can add them up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunTotals {
    /// `None` if the loop cannot be read.
    pub(crate) worked_ms: Option<u64>,
    pub(crate) unpriced: u32,
}

impl RunTotals {
    pub(crate) const UNKNOWN: Self = Self { worked_ms: None, unpriced: 0 };
}

impl From<&LoopState> for RunTotals {
    fn from(state: &LoopState) -> Self {
        Self { worked_ms: Some(state.worked.total_ms()), unpriced: state.unpriced }
    }
}

/// The engine that drives a run, and its fence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOwnership<'a> {
    pub(crate) fence: i64,
    /// JSON.
    pub(crate) owner: Option<&'a str>,
}

impl RunOwnership<'_> {
    /// No engine of this store drives the run.
    pub(crate) const UNOWNED: Self = Self { fence: 0, owner: None };
}

impl RunHeaderRow<'_> {
    /// Returns the statement that inserts a run with its loop; `facts` is the number of facts in its journal.
    pub(crate) fn insert_statement(
        &self,
        state: &SqlValue,
        totals: RunTotals,
        facts: i64,
        ownership: RunOwnership<'_>,
    ) -> SqlStatement {
        let [kind, agent, promise, settings] = [self.kind, self.agent, self.promise, self.settings].map(SqlValue::from);
        let stored = RunHeaderRow {
            kind: kind.as_stored_text(),
            agent: agent.as_stored_text(),
            promise: promise.as_stored_text(),
            settings: settings.as_stored_text(),
            ..*self
        };
        let (sum, settings_sum) = (stored.checksum(), settings_checksum(stored.settings));
        sql!(
            "INSERT INTO runs
                (id, kind, status, agent, promise, max_iterations, started_at, settings, sum, settings_sum,
                 loop, facts, loop_sum, fence, owner, worked_ms, unpriced)
             VALUES ($1, $2, 'running', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
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
            loop_checksum(state.as_stored_text(), facts),
            ownership.fence,
            ownership.owner,
            totals.worked_ms,
            totals.unpriced
        )
    }

    /// Compares the row with its two stored checksums.
    pub(crate) fn verify_checksums(&self, stored: Option<i64>, settings: Option<i64>) -> Result<(), DriverError> {
        verify_checksum(stored, self.checksum(), "the header of a run")?;
        verify_checksum(settings, settings_checksum(self.settings), "the settings of a run")
    }

    fn checksum(&self) -> i64 {
        checksum(&[
            Text(self.id),
            Text(self.kind),
            Text(self.agent),
            Text(self.promise),
            Number(self.max_iterations),
            Number(self.started_at),
        ])
    }
}

/// Returns the checksum of the settings. It is separate because a takeover may change the settings.
pub(crate) fn settings_checksum(settings: &str) -> i64 {
    checksum(&[Text(settings)])
}

/// Returns the checksum of a loop and the number of its facts.
pub(crate) fn loop_checksum(state: &str, facts: i64) -> i64 {
    checksum(&[Text(state), Number(facts)])
}

/// Returns the checksum of a fact with its position in the journal.
pub(crate) fn fact_checksum(run: &str, seq: i64, at: i64, body: &str) -> i64 {
    checksum(&[Text(run), Number(seq), Number(at), Text(body)])
}
