//! What every command shares that follows the journal of a run.
use ralph_app::control::ReaderStatus;
use ralph_app::view::short_id;

use super::out;

/// Returns whether standard output is still read.
pub fn reader_status() -> ReaderStatus {
    if out::has_reader() { ReaderStatus::Reading } else { ReaderStatus::Gone }
}

/// Says that the run was interrupted, and how to resume it.
pub fn interrupted_notice(run: &str) -> String {
    format!("no ralph drives this run any more; `ralph resume {}` resumes it", short_id(run))
}
