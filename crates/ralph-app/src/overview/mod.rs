//! The data of the dashboard beside the views of single runs and tasks: pages of runs, spending, charts, and the output of an
//! iteration.
mod charts;
mod iteration_output;
mod live_loop;
mod log_excerpt;
mod run_journal;
mod spending;

pub use charts::{ChartData, load_chart_data};
pub use iteration_output::{IterationOutput, OutputEntry, ToolResultExcerpt, load_iteration_output};
pub use live_loop::{cost_limit_of_run, last_output_at};
pub use log_excerpt::{LogExcerpt, read_check_log};
pub use run_journal::{JournalEntry, load_run_journal};
pub use spending::{SpendingSummary, load_spending};
