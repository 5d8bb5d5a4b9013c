//! Runs: finding them, and what is checked before one starts.
mod lookup;
mod nested_run;
mod run_view;
mod tracked_state;

pub use lookup::{FoundRun, find_active_run, find_run, find_run_or_task, is_orphaned, list_runs, open_existing_store};
pub use nested_run::{EnclosingRun, find_enclosing_run, refuse_recursion};
pub use run_view::load_run_view;
pub use tracked_state::refuse_tracked_state;
