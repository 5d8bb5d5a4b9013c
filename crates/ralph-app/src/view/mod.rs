//! What people and programs read of a run: typed views over the store, and their renderings as text and JSON.
mod criterion;
mod detour;
mod event;
mod groundwork;
mod list;
mod receipt;
mod run;
mod stats;
mod status;
mod task;
mod task_line;
mod words;

pub use event::{at_json, event_line};
pub use list::{run_json, run_lines};
pub use run::RunView;
pub use stats::StatsView;
pub use status::{Active, Life, LoopView, SettingUp, ago};
pub use task::{RoleHeld, TaskView};
pub use task_line::{TaskHeadJson, is_ready, task_line};
pub use words::{bytes, dollars, money, one_or_many, processes, short_id, when};
