//! `ralph init`: detects how a project is tested, and writes the missing files. It never changes an existing file.
mod detect;
mod initialize;
mod texts;
mod write;

pub use detect::{DetectedProject, detect_project};
pub use initialize::{InitNextStep, InitReport, initialize_project};
pub use write::{InitFileOutcome, InitFileResult, InitWriteError, write_init_files};
