//! The rows of the journal: one for each fact, with a checksum.
use ralph_core::fact::Fact;

use super::projections::FactContext;
use super::run_insert::fact_checksum;
use crate::driver::statement::{SqlStatement, SqlValue};

/// One fact to be inserted into the journal.
pub(crate) struct JournalRow<'a> {
    pub(crate) context: FactContext<'a>,
    pub(crate) seq: i64,
    pub(crate) fact: &'a Fact,
    /// The fact as JSON.
    pub(crate) body: String,
}

/// Returns the statement that inserts facts into the journal. `rows` must not be empty.
pub(crate) fn insert_events(rows: &[JournalRow<'_>]) -> SqlStatement {
    let placeholders: Vec<String> = (0..rows.len()).map(row_placeholders).collect();
    let sql = format!("INSERT INTO events (run, seq, at, kind, body, sum) VALUES {}", placeholders.join(", "));
    SqlStatement { sql: sql.into(), values: rows.iter().flat_map(JournalRow::column_values).collect() }
}

/// Returns the placeholders of the columns of one row: `($7, $8, …)` for the second.
fn row_placeholders(index: usize) -> String {
    let first = index * 6 + 1;
    let [a, b, c, d, e, f] = [first, first + 1, first + 2, first + 3, first + 4, first + 5];
    format!("(${a}, ${b}, ${c}, ${d}, ${e}, ${f})")
}

impl JournalRow<'_> {
    fn column_values(&self) -> [SqlValue; 6] {
        let (run, at) = (self.context.run, self.context.at.0);
        let body = SqlValue::from(self.body.as_str());
        let sum = fact_checksum(run, self.seq, at, body.as_stored_text());
        [run.into(), self.seq.into(), at.into(), self.fact.name().into(), body, sum.into()]
    }
}
