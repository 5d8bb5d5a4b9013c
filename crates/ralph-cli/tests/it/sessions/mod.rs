//! Loops inside an agent's session: hooks, `ralph install` and plugins.
mod baseline;
mod copilot_screen;
mod duplicate_hooks;
mod hook_failure_replies;
mod hook_faults;
mod hook_formats;
mod hook_input;
pub(crate) mod hooks;
pub(crate) mod install;
mod opencode_plugin;
mod record_crashes;
mod recorded_loops;
mod stale_transcripts;
