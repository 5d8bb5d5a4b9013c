//! Helpers for commands that follow the journal of a run.
use ralph_app::control::ReaderStatus;
use ralph_app::view::short_id;

use crate::commands::out;

/// Returns whether standard output still has a reader.
pub fn reader_status() -> ReaderStatus {
    if out::has_reader() { ReaderStatus::Reading } else { ReaderStatus::Gone }
}

/// Returns the notice that the run was interrupted, and how to resume it.
pub fn interrupted_notice(run: &str) -> String {
    format!("the run was interrupted: no ralph process drives it; `ralph resume {}` resumes it", short_id(run))
}
