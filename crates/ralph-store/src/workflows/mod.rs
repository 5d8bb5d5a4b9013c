//! Executions of workflows: their nodes, their journal, and the answers of people.
pub(crate) mod answers;
pub(crate) mod queries;
pub(crate) mod record_workflow;
#[cfg(test)]
mod tests;
pub(crate) mod workflow_rows;
