//! Follows the journal of a run in the store, for every command that does so.
use std::time::Duration;

use super::out;
use crate::error::CommandError;
use ralph_app::view::short_id;
use ralph_engine::project::Project;
use ralph_store::{EventRow, Store};

/// How often a journal that does not move is looked at.
const JOURNAL_POLL_INTERVAL: Duration = Duration::from_millis(150);
/// How much is read at once.
const EVENTS_PER_PAGE: u32 = 1_000;

/// How far to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowUntil {
    /// What there is.
    Now,
    /// Until the run has finished.
    RunEnd,
}

/// Why there is nothing more to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowResult {
    Finished,
    /// Nobody drives the run any more.
    Interrupted,
    /// The run may go on, but this was asked for, or nobody reads any more.
    StoppedReading,
}

/// Where the reading stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalProgress {
    /// More has been stored already.
    Behind,
    /// This is all so far.
    CaughtUp,
}

/// Shows the journal of a run page by page, from its beginning; an empty page tells that time has passed.
pub async fn follow_journal(
    store: &Store,
    run: &str,
    until: FollowUntil,
    mut show: impl FnMut(&[EventRow], JournalProgress),
) -> Result<FollowResult, CommandError> {
    let project = Project::find_here()?;
    let mut last_seq = 0;
    let mut finished = false;
    loop {
        // Looked at before the journal is read: what its ralph wrote last is then read too.
        let is_cut_short = ralph_app::run::is_orphaned(&project, run);
        let rows = store.events_after(run, last_seq, EVENTS_PER_PAGE).await?;
        let place =
            if rows.len() < EVENTS_PER_PAGE as usize { JournalProgress::CaughtUp } else { JournalProgress::Behind };
        if let Some(last) = rows.last() {
            last_seq = last.seq;
            finished = last.body.starts_with("{\"event\":\"run.finished\"");
        }
        show(&rows, place);
        match (place, until) {
            (JournalProgress::Behind, _) => {}
            (JournalProgress::CaughtUp, _) if finished => return Ok(FollowResult::Finished),
            (JournalProgress::CaughtUp, FollowUntil::Now) => return Ok(FollowResult::StoppedReading),
            (JournalProgress::CaughtUp, FollowUntil::RunEnd) if is_cut_short => {
                return Ok(FollowResult::Interrupted);
            }
            (JournalProgress::CaughtUp, FollowUntil::RunEnd) if !out::has_reader() => {
                return Ok(FollowResult::StoppedReading);
            }
            (JournalProgress::CaughtUp, FollowUntil::RunEnd) => tokio::time::sleep(JOURNAL_POLL_INTERVAL).await,
        }
    }
}

/// Says that there is nobody to wait for.
pub fn interrupted_notice(run: &str) -> String {
    format!("nobody drives this run any more; `ralph resume {}` goes on with it", short_id(run))
}
