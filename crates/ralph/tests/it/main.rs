//! The one integration-test binary: the real `ralph` with the scripted agent, a file per command or story.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod detached;
mod harness;
mod invariants;
mod processes;
mod terminal;

mod attach;
mod background;
mod claims;
mod classic;
mod commands;
mod config;
mod environment;
mod errors;
mod filters;
mod gc;
mod init;
mod journal;
mod kill_sweep;
mod leftovers;
mod locks;
mod logs;
mod looping;
mod memory;
mod notes;
mod old_data;
mod resume;
mod secrets;
mod signals;
mod state_damage;
mod state_links;
mod streams;
mod timeouts;
mod tracing;
mod trust;
mod vandals;
