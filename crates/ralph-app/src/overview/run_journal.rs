//! The journal of a run, page by page.
use ralph_core::fact::Fact;
use ralph_engine::project::Project;
use ralph_store::EventRow;

use crate::error::AppResult;
use crate::run::{FoundRun, find_run};

/// One event of the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalEntry {
    pub seq: i64,
    pub at: i64,
    /// `None`: another version of ralph wrote it.
    pub fact: Option<Fact>,
    /// As it is stored: JSON.
    pub body: String,
}

/// Returns at most `limit` events after number `after` of the run whose id starts or ends with `part`.
pub async fn load_run_journal(project: &Project, part: &str, after: i64, limit: u32) -> AppResult<Vec<JournalEntry>> {
    let FoundRun { store, run } = find_run(project, Some(part)).await?;
    let events = store.events_after(&run.id, after, limit).await?;
    store.close().await;
    Ok(events.into_iter().map(JournalEntry::from_row).collect())
}

impl JournalEntry {
    fn from_row(row: EventRow) -> Self {
        Self { seq: row.seq, at: row.at, fact: serde_json::from_str(&row.body).ok(), body: row.body }
    }
}
