//! `ralph workflow test`.
use clap::Args;
use ralph_app::view::pluralize;
use ralph_app::workflow_runs::dry_run::{CaseFailure, CaseResult, run_workflow_tests};
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;
use serde_json::json;

use crate::commands::out;
use crate::error::CommandError;

/// Runs the test files of workflows; no agent, command or script runs
///
/// The tests of NAME.yaml are in NAME.test.yaml beside it. Each case is a dry run with stubs, and names the states, outputs
/// and the end that it expects.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph workflow test                          the tests of all workflows
  ralph workflow test fix-issue --json

Exit codes: 0 all cases passed, 3 a case failed, 1 there are no tests")]
pub struct TestArgs {
    /// The names of workflows [default: all that have a test file]
    names: Vec<String>,
    /// Prints an array of {workflow, case, file, passed, error, differences}
    #[arg(long)]
    json: bool,
}

pub fn run(args: &TestArgs) -> Result<u8, CommandError> {
    let results = run_workflow_tests(Project::find_here().ok().as_ref(), &args.names)?;
    let failed = results.iter().filter(|result| result.failure.is_some()).count();
    if args.json {
        let rows: serde_json::Value = results.iter().map(to_json).collect();
        out::print_line(&rows.to_string());
    } else {
        let lines: String = results.iter().map(format_result).collect();
        let count = i64::try_from(results.len()).unwrap_or(i64::MAX);
        let summary = format!("{}: {} passed, {failed} failed", pluralize(count, "case"), results.len() - failed);
        out::print_data(&sanitize_text(&format!("{lines}{summary}\n")));
    }
    Ok(if failed == 0 { exit_code::COMPLETED } else { exit_code::NOT_COMPLETE })
}

fn to_json(result: &CaseResult) -> serde_json::Value {
    let (error, differences) = match &result.failure {
        None => (None, &[][..]),
        Some(CaseFailure::Error(error)) => (Some(error), &[][..]),
        Some(CaseFailure::Differences(differences)) => (None, differences.as_slice()),
    };
    json!({ "workflow": result.workflow, "case": result.case, "file": result.file,
        "passed": result.failure.is_none(), "error": error, "differences": differences })
}

fn format_result(result: &CaseResult) -> String {
    let case = result.case.as_deref().unwrap_or("the test file");
    let name = format!("{}: {case}", result.workflow);
    match &result.failure {
        None => format!("PASS  {name}\n"),
        Some(CaseFailure::Error(error)) => format!("FAIL  {name}\n      error: {error}\n"),
        Some(CaseFailure::Differences(differences)) => {
            let rows = differences.iter().map(|difference| {
                format!(
                    "      {}\n        - expected {}\n        + actual   {}\n",
                    difference.what, difference.expected, difference.actual
                )
            });
            format!("FAIL  {name}\n{}", rows.collect::<String>())
        }
    }
}
