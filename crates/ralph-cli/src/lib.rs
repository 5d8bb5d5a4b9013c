//! The `ralph` binary: commands, arguments, terminal output and exit codes.
pub mod commands;
pub mod error;
mod hints;
pub mod report;
