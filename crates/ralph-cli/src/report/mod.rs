//! Reports of a running loop: plain text for people, JSON lines for programs. Reports never influence the run.
mod ci;
mod color;
mod countdown;
mod json_report;
mod line_width;
mod message_joiner;
mod notify_on_first_fact;
mod plain_report;
mod progress_terminal;
mod redact_event;
mod state_report;
mod table;
mod threaded_reporter;
mod wrap;

pub use ci::{CiReport, CiSystem, RunHeading, detect_ci_system, protect_from_commands};
pub use color::{ColorMode, TextStyle};
pub use json_report::JsonReport;
pub use line_width::{wrap_for_terminal, wrap_text};
pub use notify_on_first_fact::NotifyOnFirstFact;
pub use plain_report::{PlainReport, ReportDetail};
pub use progress_terminal::build_progress_line;
pub use redact_event::redact_event;
pub use state_report::StateReport;
pub use table::TextTable;
pub use threaded_reporter::{StateRequester, ThreadedReporter};
pub use wrap::truncate_line;
