//! Keeps the output of a job: the raw log on disk, within the size limit of its run, and the tail in memory.
pub(crate) mod limited_file;
pub(crate) mod log_budget;
pub(crate) mod output_tail;
pub(crate) mod raw_log;
