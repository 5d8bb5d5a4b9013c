//! Commands that show what runs do and did.
pub mod attach;
mod attach_worker;
pub mod board;
pub mod diff;
pub mod events;
pub mod inbox;
pub mod journal_output;
pub mod logs;
pub mod report;
pub mod runs;
pub mod show;
pub mod stats;
pub mod status;
pub mod status_watch;
pub mod verify;
pub mod verify_report;
pub mod why;
