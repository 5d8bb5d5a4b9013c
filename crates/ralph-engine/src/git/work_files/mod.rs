//! The files of a work tree: which there are, which changed, and their snapshots.
pub(super) mod changes;
pub(super) mod conversions;
pub(super) mod exact_files;
pub(super) mod ignore_patterns;
pub(super) mod ignored;
pub(super) mod snapshot;
pub(super) mod unignored_files;
pub(super) mod worktree_commit;
pub(super) mod worktree_hash;
pub(super) mod worktree_listing;
