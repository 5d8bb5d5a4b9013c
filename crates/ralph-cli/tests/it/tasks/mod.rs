//! Tasks: commands, files, generation, and runs of single stages.
pub(crate) mod generate;
mod manual_runs;
pub(crate) mod task_commands;
mod task_delete;
mod task_file_errors;
mod task_files;
mod task_runs;
