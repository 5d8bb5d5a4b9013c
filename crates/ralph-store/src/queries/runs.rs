//! Reads runs, their projections and their journal.
use ralph_core::fact::Fact;

use crate::driver::statement::{SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError};
use crate::journal::checksum::verify_checksum;
use crate::journal::run_insert::{fact_checksum, loop_checksum};
use crate::{AttemptRow, CheckRow, IterationRow, ReceiptRow, RunRow, Store, StoreError};

/// One fact of the journal as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    pub seq: i64,
    pub at: i64,
    /// JSON.
    pub body: String,
}

/// Selects a page of runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunPageFilter<'a> {
    /// The id of the last run of the page before; `None` for the first page.
    pub before: Option<&'a str>,
    /// Empty: every kind.
    pub kind: &'a str,
    /// Empty: every agent.
    pub agent: &'a str,
    /// Empty: runs of every task, and those without one.
    pub task: &'a str,
    /// Empty: every role.
    pub role: &'a str,
    /// Stored statuses, of which one suffices. The first one empty: every status.
    pub statuses: [&'a str; 2],
    /// Only runs with a claim of this verdict, among them the passes of workflow runs. Empty: every run.
    pub verdict: &'a str,
    /// With a verdict: the method that decided, or `none`. Empty: every method.
    pub method: &'a str,
    pub limit: u32,
}

/// The loop of a run as it was last stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LatestLoop {
    /// JSON.
    pub(crate) loop_json: String,
    /// The number of facts in its journal; `None` for runs stored with an early schema.
    pub(crate) fact_count: Option<i64>,
    pub(crate) fence: i64,
}

/// Selects up to five rows whose id starts or ends with `$1`, newest first.
pub(crate) const FIND_BY_ID_PART: &str =
    "WHERE substr(id, 1, length($1)) = $1 OR substr(id, -length($1)) = $1 ORDER BY started_at DESC LIMIT 5";

/// Returns the first number that is missing between `after` and the expected end, if one is.
pub(crate) fn find_gap(numbers: impl Iterator<Item = i64>, after: i64, expected_end: i64) -> Option<i64> {
    let mut expected = after + 1;
    for number in numbers {
        if number != expected {
            return Some(expected);
        }
        expected += 1;
    }
    (expected <= expected_end).then_some(expected)
}

/// Selects the method that decided on the claim of iteration `i`. An accepted claim has none.
pub(crate) const DECIDING_METHOD: &str = "(SELECT v.method FROM verdicts AS v WHERE v.run = i.run
    AND v.iteration = i.number AND v.verdict = i.verdict AND i.verdict <> 'accepted' ORDER BY v.position LIMIT 1)";

impl Store {
    /// Returns the newest runs, newest first, without the passes of workflow runs.
    pub async fn recent_runs(&self, limit: u32) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!(
            "SELECT {} FROM runs WHERE workflow IS NULL ORDER BY started_at DESC, id DESC LIMIT $1",
            RunRow::COLUMNS
        );
        self.rows(sql!(sql, limit), RunRow::from_row).await
    }

    /// Returns a page of runs, newest first. Without a filter for verdicts, it has no passes of workflow runs.
    pub async fn page_of_runs(&self, page: &RunPageFilter<'_>) -> Result<Vec<RunRow>, StoreError> {
        let (started_at, id) = self.page_position("runs", page.before).await?;
        let sql = format!(
            "SELECT {} FROM runs WHERE (workflow IS NULL OR $10 <> '') AND started_at <= $1 AND (started_at < $1 OR id < $2)
             AND ($3 = '' OR kind = $3) AND ($4 = '' OR status = $4 OR status = $5)
             AND ($6 = '' OR agent = $6) AND ($7 = '' OR task = $7) AND ($8 = '' OR role = $8)
             AND ($10 = '' OR EXISTS (SELECT 1 FROM iterations AS i WHERE i.run = runs.id AND i.verdict = $10
                AND ($11 = '' OR COALESCE({DECIDING_METHOD}, 'none') = $11)))
             ORDER BY started_at DESC, id DESC LIMIT $9",
            RunRow::COLUMNS
        );
        let RunPageFilter { before: _, kind, agent, task, role, statuses, verdict, method, limit } = *page;
        let [first, second] = statuses;
        let [id, kind, first, second, agent, task, role, verdict, method] =
            [&id, kind, first, second, agent, task, role, verdict, method].map(SqlValue::verbatim);
        let statement = sql!(sql, started_at, id, kind, first, second, agent, task, role, limit, verdict, method);
        self.rows(statement, RunRow::from_row).await
    }

    /// Returns the start and the id of the row that a page continues after; without one, values after every row.
    pub(crate) async fn page_position(
        &self,
        table: &'static str,
        before: Option<&str>,
    ) -> Result<(i64, String), StoreError> {
        let Some(before) = before else { return Ok((i64::MAX, String::new())) };
        let sql = format!("SELECT started_at, id FROM {table} WHERE id = $1");
        let position =
            self.row(sql!(sql, SqlValue::verbatim(before)), |row| Ok((row.get("started_at")?, row.get("id")?))).await?;
        // Nothing is older than a row that does not exist.
        Ok(position.unwrap_or((i64::MIN, String::new())))
    }

    /// Returns the runs with the status `running`, newest first.
    pub async fn unfinished_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        let sql =
            format!("SELECT {} FROM runs WHERE status = 'running' ORDER BY started_at DESC, id DESC", RunRow::COLUMNS);
        self.rows(sql!(sql), RunRow::from_row).await
    }

    /// Returns up to five runs whose id starts or ends with these characters.
    pub async fn find_runs_by_id_part(&self, id_part: &str) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!("SELECT {} FROM runs {FIND_BY_ID_PART}", RunRow::COLUMNS);
        self.rows(sql!(sql, SqlValue::verbatim(id_part)), RunRow::from_row).await
    }

    /// Returns the iterations of a run in order.
    pub async fn iterations_of_run(&self, run: &str) -> Result<Vec<IterationRow>, StoreError> {
        let sql = "SELECT * FROM iterations WHERE run = $1 ORDER BY number";
        self.rows(sql!(sql, SqlValue::verbatim(run)), IterationRow::from_row).await
    }

    /// Returns the attempts of a run in order.
    pub async fn attempts_of_run(&self, run: &str) -> Result<Vec<AttemptRow>, StoreError> {
        let sql = "SELECT * FROM attempts WHERE run = $1 ORDER BY iteration, number";
        self.rows(sql!(sql, SqlValue::verbatim(run)), AttemptRow::from_row).await
    }

    /// Returns the evidence of a run in order.
    pub async fn checks_of_run(&self, run: &str) -> Result<Vec<CheckRow>, StoreError> {
        let sql = "SELECT * FROM verdicts WHERE run = $1 ORDER BY iteration, position";
        self.rows(sql!(sql, SqlValue::verbatim(run)), CheckRow::from_row).await
    }

    /// Returns the facts of a run that have one of two kinds, in order.
    pub async fn events_of_kinds(&self, run: &str, kinds: [&str; 2]) -> Result<Vec<EventRow>, StoreError> {
        let sql = "SELECT seq, at, body, sum FROM events WHERE run = $1 AND kind IN ($2, $3) ORDER BY seq";
        let [first, second] = kinds;
        let statement = sql!(sql, SqlValue::verbatim(run), SqlValue::verbatim(first), SqlValue::verbatim(second));
        self.rows(statement, |row| read_event(run, row)).await
    }

    /// Returns the end of the agent's last message in a run.
    pub async fn last_agent_message(&self, run: &str) -> Result<String, StoreError> {
        let sql =
            "SELECT seq, at, body, sum FROM events WHERE run = $1 AND kind = 'attempt.ended' ORDER BY seq DESC LIMIT 1";
        let last = self.rows(sql!(sql, SqlValue::verbatim(run)), |row| read_event(run, row)).await?.pop();
        let Some(last) = last else { return Ok(String::new()) };
        match serde_json::from_str(&last.body) {
            Ok(Fact::AttemptEnded { result, .. }) => Ok(result.final_text),
            Ok(_) => Ok(String::new()),
            Err(error) => {
                Err(self.to_store_error(DriverError::unreadable_value(format!("fact {}: {error}", last.seq))))
            }
        }
    }

    /// Returns the receipt of a run, if it has one.
    pub async fn receipt_of_run(&self, run: &str) -> Result<Option<ReceiptRow>, StoreError> {
        let statement = sql!("SELECT verified, sha256, body FROM receipts WHERE run = $1", SqlValue::verbatim(run));
        self.row(statement, ReceiptRow::from_row).await
    }

    /// Returns at most `limit` facts of a run after number `after`. Fails if the journal has a gap.
    pub async fn events_after(&self, run: &str, after: i64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        // The journal can only grow between the two reads.
        let expected_end = self.latest_loop(run).await?.fact_count.unwrap_or(0).min(after.saturating_add(limit.into()));
        let sql = "SELECT seq, at, body, sum FROM events WHERE run = $1 AND seq > $2 ORDER BY seq LIMIT $3";
        let statement = sql!(sql, SqlValue::verbatim(run), after, limit);
        let rows = self.rows(statement, |row| read_event(run, row)).await?;
        match find_gap(rows.iter().map(|row| row.seq), after, expected_end) {
            None => Ok(rows),
            Some(missing) => {
                let message = format!("fact {missing} of run {run} is missing");
                Err(self.to_store_error(DriverError::unreadable_value(message)))
            }
        }
    }

    /// Returns the loop of a run as it was last stored.
    pub(crate) async fn latest_loop(&self, run: &str) -> Result<LatestLoop, StoreError> {
        let statement = sql!("SELECT loop, facts, fence, loop_sum FROM runs WHERE id = $1", SqlValue::verbatim(run));
        let read = |row: &DatabaseRow| {
            let latest =
                LatestLoop { loop_json: row.get("loop")?, fact_count: row.get("facts")?, fence: row.get("fence")? };
            let found = loop_checksum(&latest.loop_json, latest.fact_count.unwrap_or(0));
            verify_checksum(row.get("loop_sum")?, found, "the loop of a run").map(|()| latest)
        };
        Ok(self.rows(statement, read).await?.pop().unwrap_or_default())
    }

    /// Returns how many facts of a run are stored; `None` if the run does not exist.
    pub async fn stored_fact_count(&self, run: &str) -> Result<Option<i64>, StoreError> {
        let statement = sql!("SELECT COALESCE(facts, 0) AS facts FROM runs WHERE id = $1", SqlValue::verbatim(run));
        self.row(statement, |row| row.get("facts")).await
    }

    /// Returns how many facts a run has.
    pub(crate) async fn count_facts(&self, run: &str, latest: &LatestLoop) -> Result<i64, StoreError> {
        if let Some(facts) = latest.fact_count {
            return Ok(facts);
        }
        let statement = sql!("SELECT COUNT(*) AS facts FROM events WHERE run = $1", SqlValue::verbatim(run));
        Ok(self.rows(statement, |row| row.get("facts")).await?.pop().unwrap_or_default())
    }
}

fn read_event(run: &str, row: &DatabaseRow) -> Result<EventRow, DriverError> {
    let event = EventRow { seq: row.get("seq")?, at: row.get("at")?, body: row.get("body")? };
    let found = fact_checksum(run, event.seq, event.at, &event.body);
    verify_checksum(row.get("sum")?, found, "a fact of the journal").map(|()| event)
}
