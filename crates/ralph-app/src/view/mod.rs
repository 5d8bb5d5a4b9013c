//! Views of the store: typed data of runs and tasks, and their renderings as text and JSON.
mod criterion;
mod event_line;
mod explanation;
mod interruptions;
mod land_report;
mod preparation;
mod receipt;
mod run;
mod run_list;
mod run_title;
mod stats;
mod status;
mod task;
mod task_line;
mod text_format;
mod workflow_run;

pub use event_line::{event_json_line, timestamp_json};
pub use explanation::{explanation_json, explanation_text};
pub use land_report::land_report_json;
pub use run::RunView;
pub(crate) use run_list::accepted_by;
pub use run_list::{RUN_COLUMNS, run_cells, run_json};
pub use run_title::run_title;
pub use stats::StatsView;
pub use status::{
    ActiveWork, DescribeRemedy, LoopLiveness, LoopRemedy, LoopView, TaskSetup, WorkerProcess, WorkerView, format_age,
};
pub use task::{RoleCriteria, TaskView};
pub use task_line::{TASK_COLUMNS, TaskListItemJson, is_task_ready, task_cells};
pub use text_format::{
    format_bytes, format_clock_time, format_cost, format_elapsed, format_minute, format_process_count,
    format_timestamp, format_tokens, format_wait_end, micros_to_dollars, pluralize, short_id,
};
pub use workflow_run::{workflow_node_output, workflow_run_json, workflow_view_json};
