//! Maintenance of a project: cleaning up, going back, comparing, and moving runs between projects.
mod backup;
mod diff;
mod export;
mod gc;
mod gc_workflows;
mod import;
mod import_journal;
mod retention;
mod rewind;
mod run_worktree;
mod stats;
mod undo;

pub use backup::backup_database;
pub use diff::{DiffDetail, DiffEnd, RunDiff, diff_iteration, diff_run, diff_stored_iteration};
pub use export::export_run;
pub use gc::{CollectedRun, GcReport, GcRequest, GcScope, collect_garbage};
pub use import::{ExportedRun, import_run};
pub use retention::{RemovalMode, RetentionError};
pub use rewind::{RewindReport, RewindTarget, list_attempts, rewind_worktree};
pub(crate) use run_worktree::worktree_root;
pub use stats::{StatsPeriod, StatsRequest, load_stats};
pub use undo::{UndoReport, undo_run};
