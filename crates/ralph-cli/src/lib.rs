//! The `ralph` binary: commands, arguments, terminal output and exit codes.
pub mod cli;
pub mod error;
pub mod report;
