//! Follows the journal of a run in the store.
use std::time::Duration;

use ralph_engine::project::Project;
use ralph_store::{EventRow, Store};

use crate::error::AppResult;
use crate::run::is_orphaned;

/// How often a journal without new events is polled.
const JOURNAL_POLL_INTERVAL: Duration = Duration::from_millis(150);
/// How many events are read at once.
const EVENTS_PER_PAGE: u32 = 1_000;

/// How far to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowUntil {
    /// To the newest event.
    Now,
    /// Until the run has finished.
    RunEnd,
}

/// Why the reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowResult {
    Finished,
    /// No process drives the run any more.
    Interrupted,
    /// The run may continue, but no more events were requested.
    StoppedReading,
}

/// How far the reading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalProgress {
    /// More events are stored already.
    Behind,
    /// These are all events so far.
    CaughtUp,
}

/// Whether the reader of the events is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderStatus {
    Reading,
    /// Following ends when the reader has been given all events so far.
    Gone,
}

/// Reads the journal of one run.
#[derive(Clone, Copy)]
pub struct JournalFollower<'a> {
    pub project: &'a Project,
    pub store: &'a Store,
    pub run: &'a str,
    pub until: FollowUntil,
}

impl JournalFollower<'_> {
    /// Shows the events page by page, from the first one. An empty page means that time has passed.
    pub async fn follow_journal(
        &self,
        mut show: impl FnMut(&[EventRow], JournalProgress) -> ReaderStatus,
    ) -> AppResult<FollowResult> {
        let mut last_seq = 0;
        let mut finished = false;
        loop {
            // Checked before the journal is read, so that the last events of the driver are read too.
            let is_cut_short = is_orphaned(self.project, self.run);
            let rows = self.store.events_after(self.run, last_seq, EVENTS_PER_PAGE).await?;
            let is_last_page = rows.len() < EVENTS_PER_PAGE as usize;
            let progress = if is_last_page { JournalProgress::CaughtUp } else { JournalProgress::Behind };
            if let Some(last) = rows.last() {
                last_seq = last.seq;
                finished = last.body.starts_with("{\"event\":\"run.finished\"");
            }
            let reader = show(&rows, progress);
            match (progress, self.until) {
                (JournalProgress::Behind, _) => {}
                (JournalProgress::CaughtUp, _) if finished => return Ok(FollowResult::Finished),
                (JournalProgress::CaughtUp, FollowUntil::Now) => return Ok(FollowResult::StoppedReading),
                (JournalProgress::CaughtUp, FollowUntil::RunEnd) if is_cut_short => {
                    return Ok(FollowResult::Interrupted);
                }
                (JournalProgress::CaughtUp, FollowUntil::RunEnd) if reader == ReaderStatus::Gone => {
                    return Ok(FollowResult::StoppedReading);
                }
                (JournalProgress::CaughtUp, FollowUntil::RunEnd) => tokio::time::sleep(JOURNAL_POLL_INTERVAL).await,
            }
        }
    }
}
