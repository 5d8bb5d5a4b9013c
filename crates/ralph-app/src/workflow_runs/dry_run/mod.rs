//! Dry runs: the graph of a workflow is walked with prepared outputs. No agent, command or script runs, and nothing is
//! written.
mod case_runner;
mod default_output;
mod node_inputs;
mod output_uses;
mod stubs;
mod test_file;
#[cfg(test)]
mod tests;
mod walk;

pub use case_runner::{CaseDifference, CaseFailure, CaseResult, run_workflow_tests};
pub use stubs::{StubError, StubSet, read_stub_file};
pub use walk::{DryRunReport, DryRunRequest, DryRunSource, NodeResult, dry_run, load_dry_run_source};
