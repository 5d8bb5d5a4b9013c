//! Stored tasks: creating, changing, importing, approving, listing and deleting them.
mod advice;
mod approve;
mod author;
mod checks;
mod create;
mod delete;
mod edit;
mod export;
mod fields;
mod followup;
mod import;
mod list;
mod running_task;
mod task_view;

pub use advice::TaskAdvice;
pub use approve::{TaskSelection, approve_tasks, find_pending_tasks};
pub use author::{detect_author, ensure_may_set_status};
pub use create::{CreatedTask, CriteriaRule, NewTaskRequest, add_tasks, create_task, plan_additions};
pub use delete::{DeletedTask, UnmergedWork, delete_tasks};
pub use edit::{EditedTask, TaskEditRequest, edit_task};
pub use export::{TaskExportFilter, export_tasks};
pub use fields::{RoleFields, TaskFields};
pub use followup::{FollowupRequest, create_followup};
pub use import::{ImportMode, ImportedTask, TaskImportRequest, TaskImportSource, import_tasks, read_tasks};
pub use list::{ListedTask, TaskList, TaskListFilter, list_tasks};
pub use running_task::ensure_not_running;
pub use task_view::load_task_view;
