//! Everything that only SQLite needs: its files, how they are opened and checked, its schema and its backup.
pub(crate) mod backup;
pub(crate) mod connection;
pub(crate) mod damaged_copy;
pub(crate) mod database_files;
pub(crate) mod database_header;
pub(crate) mod file_guard;
pub(crate) mod file_stamps;
pub(crate) mod migrate;
pub(crate) mod open;
