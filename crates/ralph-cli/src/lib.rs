//! The `ralph` binary: commands, arguments, terminal output and exit codes.
pub mod commands;
pub mod error;
pub mod report;
