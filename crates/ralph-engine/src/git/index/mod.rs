//! The index: reading its file, and building one that does not depend on the user's.
pub(super) mod index_file;
pub(super) mod trusted_index;
