//! What people and programs read of a run: typed views over the store, and their renderings as text and JSON.
mod criterion;
mod detour;
mod event;
mod groundwork;
mod list;
mod receipt;
mod run;
mod task;
mod words;

pub use event::{at_json, event_line};
pub use list::{run_json, run_line};
pub use run::RunView;
pub use task::{TaskView, task_head_json, task_line};
pub use words::{bytes, dollars, money, one_or_many, processes, short_id, when};
