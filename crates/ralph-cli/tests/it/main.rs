//! The one integration-test binary: the real `ralph` with the scripted agent, a folder per subject of the guide.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod background_run;
mod harness;
mod invariants;
mod process_table;
mod terminal;

mod agents;
mod board;
mod browser;
mod cheating;
mod config;
mod control;
mod limits;
mod mcp;
mod notifications;
mod output;
mod processes;
mod real;
mod run;
mod server;
mod sessions;
mod state;
mod tasks;
mod verification;
mod work;
mod workflows;
