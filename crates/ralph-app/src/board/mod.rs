//! The content of the board: a snapshot of everything that runs, waits and has ended, and the details of one task, run or
//! workflow run. Reading never changes a run.
mod board_reader;
mod card;
mod critical_path;
mod inbox_text;
mod last_output;
mod live_loop;
mod run_grid;
mod subject_text;
mod user_command;
mod workflow_text;

pub use board_reader::{BoardReader, BoardSnapshot, CardScope, LANE_WINDOW, LaneTotals};
pub use card::{BoardCard, CardKind, CardLane};
pub use inbox_text::{ShownInboxItem, approve_shown_item, load_inbox_text};
pub use last_output::LastOutput;
pub use live_loop::LiveLoop;
pub(crate) use run_grid::criteria_rows;
pub use run_grid::{CheckMark, CriterionRow, RunGrid, load_run_grids};
pub use subject_text::{find_log_file, load_receipt_text, load_why_text};
pub use user_command::{UserCommandSubject, load_user_commands, prepare_user_command};
pub use workflow_text::load_workflow_text;
