//! Task files: parses YAML, `prd.json` and Markdown checklists with positions for errors, and writes tasks so that they
//! parse back unchanged.
mod consistency;
mod error;
mod fields;
mod file;
mod json;
mod lookup;
mod markdown;
mod origin;
mod parser;
mod prd;
mod write;

pub use consistency::check_consistency;
pub use error::TaskError;
pub use file::{
    ParsedTasks, TaskFileFormat, TaskText, parse_single_task, parse_tasks, parse_verification_json, read_bounded,
    read_task_text, read_verification_file,
};
pub use lookup::{
    FoundTask, find_run_by_tree_name, find_task, open_or_create_store, open_task_store, unknown_id_error,
    unknown_task_error,
};
pub use origin::TaskOrigin;
pub use parser::ParsedTask;
pub use write::{ExportedTask, render_yaml};
