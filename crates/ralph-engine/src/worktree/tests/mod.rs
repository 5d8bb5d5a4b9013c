//! Tests of creating and landing task work trees, and the fixture of all tests of work trees.
mod create;
mod land;
mod run_history;
mod start_snapshot;
pub(super) mod worktree_fixture;
