//! Objects of a repository: commits, trees, blobs, and merges of them.
pub(super) mod commit_tree;
pub(super) mod merge;
pub(super) mod object_check;
pub(super) mod object_writer;
pub(super) mod pack_index;
pub(super) mod tree_edit;
