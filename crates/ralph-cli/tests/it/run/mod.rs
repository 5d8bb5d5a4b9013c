//! Runs: the loop, claims, notes, resume, background runs and classic mode.
mod background;
mod claims;
pub(crate) mod classic;
mod environment;
mod non_utf8_paths;
mod notes;
mod resume;
mod run_loop;
mod undo;
mod unsafe_names;
