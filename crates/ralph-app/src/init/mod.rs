//! Makes a project ready: finds out what there is to find out, and writes what is missing. It never changes a file
//! that exists.
mod detect;
mod texts;
mod write;

pub use detect::{DetectedProject, detect_project};
pub use write::{InitFileOutcome, InitFileResult, InitWriteError, write_init_files};
