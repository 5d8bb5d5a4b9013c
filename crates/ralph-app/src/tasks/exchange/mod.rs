//! Moves tasks in and out: files, and the tasks that an agent generates.
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod import_generated;
