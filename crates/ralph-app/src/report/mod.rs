//! A report of a run, a task or a workflow run as one document that can be shared: HTML without scripts, or Markdown for a pull
//! request. Secrets are redacted, and nothing that an agent wrote is interpreted.
mod document;
mod html;
mod load;
mod markdown;
mod run_section;
#[cfg(test)]
mod snapshot_tests;

pub use document::{ReportBlock, ReportDocument, ReportTone};
pub use html::render_html;
pub use load::load_report;
pub use markdown::render_markdown;
