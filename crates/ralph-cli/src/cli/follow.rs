//! Follows the journal of a run in the store, for every command that does so.
use std::time::Duration;

use super::{out, pick};
use crate::error::Failure;
use ralph_app::view::short_id;
use ralph_engine::project::Project;
use ralph_store::{EventRow, Store};

/// How often a journal that does not move is looked at.
const PAUSE: Duration = Duration::from_millis(150);
/// How much is read at once.
const PAGE: u32 = 1_000;

/// How far to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// What there is.
    Now,
    /// Until the run has finished.
    End,
}

/// Why there is nothing more to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Last {
    Finished,
    /// Nobody drives the run any more.
    CutShort,
    /// The run may go on, but this was asked for, or nobody reads any more.
    Enough,
}

/// Where the reading stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// More has been stored already.
    Behind,
    /// This is all so far.
    CaughtUp,
}

/// Shows the journal of a run page by page, from its beginning; an empty page tells that time has passed.
pub async fn follow(
    store: &Store,
    run: &str,
    until: Until,
    mut show: impl FnMut(&[EventRow], Place),
) -> Result<Last, Failure> {
    let project = Project::here()?;
    let mut seen = 0;
    let mut finished = false;
    loop {
        // Looked at before the journal is read: what its ralph wrote last is then read too.
        let is_cut_short = pick::is_cut_short(&project, run);
        let rows = store.events(run, seen, PAGE).await?;
        let place = if rows.len() < PAGE as usize { Place::CaughtUp } else { Place::Behind };
        if let Some(last) = rows.last() {
            seen = last.seq;
            finished = last.body.starts_with("{\"event\":\"run.finished\"");
        }
        show(&rows, place);
        match (place, until) {
            (Place::Behind, _) => {}
            (Place::CaughtUp, _) if finished => return Ok(Last::Finished),
            (Place::CaughtUp, Until::Now) => return Ok(Last::Enough),
            (Place::CaughtUp, Until::End) if is_cut_short => return Ok(Last::CutShort),
            (Place::CaughtUp, Until::End) if !out::is_read() => return Ok(Last::Enough),
            (Place::CaughtUp, Until::End) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Says that there is nobody to wait for.
pub fn cut_short(run: &str) -> String {
    format!("nobody drives this run any more; `ralph resume {}` goes on with it", short_id(run))
}
