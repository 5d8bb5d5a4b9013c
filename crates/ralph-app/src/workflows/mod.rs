//! Workflow files: where they are found, how they are read, and what they may contain. One broken file never hides another.
mod built_in;
mod catalog;
mod commands;
mod discovery;
mod file_name;
pub mod graph;
mod include;
mod keys;
mod load;
mod name_scan;
mod parser;
mod problem;
mod read_file;
mod schema;
mod source_file;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod triggers;

pub use catalog::{CatalogEntry, FoundWorkflow, LoadResult, WorkflowCatalog, WorkflowError, WorkflowFolders};
pub use commands::{CommandError, CommandLibrary, WorkflowCommand, WorkflowScript};
pub use discovery::{FolderLayout, WorkflowFolder, WorkflowOrigin};
pub use load::LoadedWorkflow;
pub use problem::WorkflowProblem;
pub(crate) use read_file::read_text_file;
pub use schema::workflow_schema;
pub(crate) use table::to_json;
pub use triggers::find_triggers;
