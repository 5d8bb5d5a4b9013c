//! Runs: finding them, and what is checked and prepared before one starts or resumes.
mod leftovers;
mod lookup;
mod nested_run;
mod resume;
mod run_view;
mod worktree;

pub use leftovers::kill_leftover_processes;
pub use lookup::{FoundRun, find_active_run, find_run, find_run_or_task, is_orphaned, list_runs, open_existing_store};
pub use nested_run::{EnclosingRun, find_enclosing_run, refuse_recursion};
pub use resume::{RebuiltRun, ResumeRequest};
pub use run_view::load_run_view;
pub use worktree::{WorktreeOutcome, create_worktree, finish_worktree, reopen_worktree, set_up_worktree};
