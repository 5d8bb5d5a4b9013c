//! `ralph workflow run --dry-run`.
use std::collections::BTreeMap;
use std::path::Path;

use ralph_app::workflow_runs::WorkflowFact;
use ralph_app::workflow_runs::dry_run::{
    DryRunReport, DryRunRequest, StubError, StubSet, dry_run, load_dry_run_source, read_stub_file,
};
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;
use serde_json::json;

use crate::commands::out;
use crate::error::CommandError;

/// The arguments of a dry run.
pub struct DryRunArgs<'a> {
    pub name: &'a str,
    pub message: String,
    pub inputs: BTreeMap<String, String>,
    pub stubs: Option<&'a Path>,
    pub is_json: bool,
}

pub fn run(args: DryRunArgs<'_>) -> Result<u8, CommandError> {
    let project = Project::find_here().ok();
    let stubs = args.stubs.map_or(Ok(StubSet::default()), read_stub_file).map_err(|error| stub_error(&error))?;
    let source = load_dry_run_source(project.as_ref(), args.name)?;
    let request = DryRunRequest { source: &source, message: args.message, inputs: args.inputs, stubs: &stubs };
    let report = dry_run(request)?;
    for note in &source.notes {
        out::print_note(&sanitize_text(&format!("note: {note}")));
    }
    if args.is_json {
        print_json(&report);
    } else {
        print_report(&report);
    }
    Ok(report.end.exit_code)
}

fn stub_error(error: &StubError) -> CommandError {
    CommandError::from_message(exit_code::PREFLIGHT_FAILED, error)
}

fn print_json(report: &DryRunReport) {
    let mut lines = String::new();
    for fact in &report.facts {
        lines.push_str(&format!("{}\n", json!(fact)));
    }
    let DryRunReport { end, nodes, .. } = report;
    let outputs: BTreeMap<&str, _> = nodes.iter().map(|(node, result)| (node.as_str(), &result.output)).collect();
    let states: BTreeMap<&str, _> = nodes.iter().map(|(node, result)| (node.as_str(), result.status)).collect();
    let result = json!({ "event": "workflow.result", "dry_run": true, "status": end.status, "reason": end.reason,
        "exit_code": end.exit_code, "output": end.output, "nodes": states, "outputs": outputs });
    out::print_data(&format!("{lines}{result}\n"));
}

fn print_report(report: &DryRunReport) {
    let rows: Vec<String> = report.facts.iter().filter_map(format_fact).collect();
    out::print_wrapped(&sanitize_text(&format!(
        "{}\n\n{}: {}\n",
        rows.join("\n"),
        report.end.status,
        report.end.reason
    )));
    if let Some(output) = report.end.output.as_deref().filter(|output| !output.trim().is_empty()) {
        out::print_line(&sanitize_text(output));
    }
}

fn format_fact(fact: &WorkflowFact) -> Option<String> {
    match fact {
        WorkflowFact::NodeCompleted { node, .. } => Some(format!("completed  {node}")),
        WorkflowFact::NodeFailed { node, reason } => Some(format!("failed     {node}: {reason}")),
        WorkflowFact::NodeSkipped { node, reason } => Some(format!("skipped    {node}: {reason}")),
        WorkflowFact::NodeRetry { node, reason, .. } => Some(format!("retried    {node}: {reason}")),
        WorkflowFact::Started { .. }
        | WorkflowFact::Resumed
        | WorkflowFact::NodeStarted { .. }
        | WorkflowFact::ChildStarted { .. }
        | WorkflowFact::QuestionAsked { .. }
        | WorkflowFact::QuestionAnswered { .. }
        | WorkflowFact::Judged { .. }
        | WorkflowFact::Receipt { .. }
        | WorkflowFact::Message { .. }
        | WorkflowFact::Waiting
        | WorkflowFact::Finished { .. } => None,
    }
}
