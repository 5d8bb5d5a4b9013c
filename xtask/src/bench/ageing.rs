//! Late iterations of a long run take as long as early ones.
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::round_times::median;
use super::workspace::{BenchWorkspace, EXHAUSTED_EXIT_CODE, UNSAID_PROMISE, spawn_command, wait_for_exit};
use crate::error::{Result, XtaskError};

const ITERATIONS: usize = 5_000;

/// Iterations compared at each end of the run.
const SAMPLED_ITERATIONS: usize = 200;

const ITERATION_STARTED_PREFIX: &str = r#"{"event":"iteration.started""#;

// spec: F4
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let count = workspace.size.scaled_count(ITERATIONS);
    let millis = measure_iterations(workspace, count)?;
    let (first, last) = (&millis[..SAMPLED_ITERATIONS], &millis[millis.len() - SAMPLED_ITERATIONS..]);
    let (first, last) = (median(first), median(last));
    let title = format!("iteration {count} / iteration 1");
    let limit = RatioLimit::AtMost(1.3);
    let row = ComparisonRow {
        title,
        ours: MeasuredValue::Millis(last),
        theirs: MeasuredValue::Millis(first),
        ratio: last / first,
        limit,
    };
    Ok(BenchReport { rows: vec![row], ..BenchReport::default() })
}

/// Returns the milliseconds from the start of each iteration to the start of the next.
fn measure_iterations(workspace: &BenchWorkspace, count: usize) -> Result<Vec<f64>> {
    let mut command = workspace.ralph_run_command(&workspace.create_project("ageing")?, &workspace.agent);
    command.args([
        "--agent-arg=work",
        "--promise",
        UNSAID_PROMISE,
        "--stall",
        "1000000",
        "--max-iterations",
        &count.to_string(),
    ]);
    let mut child = spawn_command(command.stdout(Stdio::piped()))?;
    let lines = child.stdout.take().map(|out| BufReader::new(out).lines());
    let starts = lines
        .into_iter()
        .flatten()
        .map_while(std::result::Result::ok)
        .filter(|line| line.starts_with(ITERATION_STARTED_PREFIX));
    let times: Vec<Instant> = starts.map(|_| Instant::now()).collect();
    wait_for_exit(child, &command, EXHAUSTED_EXIT_CODE)?;
    if times.len() != count {
        return Err(XtaskError::new(format!("{} iterations reported, expected {count}", times.len())));
    }
    Ok(times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1000.0).collect())
}
