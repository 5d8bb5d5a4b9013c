//! Dry runs: the graph of a workflow is walked with prepared outputs. No agent, command or script runs, and nothing is
//! written.
mod case_runner;
mod child_walk;
mod default_output;
mod node_inputs;
mod output_uses;
mod source;
mod stubs;
mod test_file;
#[cfg(test)]
mod tests;
mod walk;

pub use case_runner::{CaseDifference, CaseFailure, CaseResult, run_workflow_tests};
pub use source::{DryRunSource, WalkedWorkflow, load_dry_run_source};
pub use stubs::{StubError, StubSet, read_stub_file};
pub use walk::{DryRunReport, DryRunRequest, NodeResult, dry_run};
