//! Startup time: `ralph --version`, and the start of the first agent.
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::round_times::{BenchContestant, run_rounds};
use super::workspace::{
    BenchWorkspace, EXHAUSTED_EXIT_CODE, UNSAID_PROMISE, remove_file, spawn_command, time_command, wait_for_exit,
};
use crate::error::{Result, XtaskError};

/// A single start is too short to measure; a round consists of many.
const STARTS_PER_ROUND: usize = 20;

/// A ratio for "a few milliseconds", because the time to start a program differs between machines and over time.
const MAX_START_RATIO: f64 = 6.0;

/// How often to poll for the trace file of the agent.
const TRACE_POLL_INTERVAL: Duration = Duration::from_micros(100);

// spec: F5
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    Ok(BenchReport {
        rows: vec![measure_version(workspace)?, measure_first_agent(workspace)?],
        ..BenchReport::default()
    })
}

fn measure_version(workspace: &BenchWorkspace) -> Result<ComparisonRow> {
    let quiet = |mut command: Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        time_command(command, 0)
    };
    let mut ours = || {
        let mut command = Command::new(&workspace.ralph);
        command.arg("--version");
        quiet(command)
    };
    measure_row(workspace, "ralph --version / true", [&mut ours, &mut || quiet(Command::new("true"))])
}

fn measure_first_agent(workspace: &BenchWorkspace) -> Result<ComparisonRow> {
    let project = workspace.create_project("start")?;
    let trace = workspace.path("trace");
    let mut ours = || {
        let mut command = workspace.ralph_run_command(&project, &workspace.agent);
        command.args(["--agent-arg=work", "--promise", UNSAID_PROMISE, "--max-iterations", "1"]);
        time_until_trace(command, &trace, EXHAUSTED_EXIT_CODE)
    };
    let mut alone = || time_until_trace(workspace.agent_command()?, &trace, 0);
    measure_row(workspace, "until the agent works / started alone", [&mut ours, &mut alone])
}

fn measure_row(workspace: &BenchWorkspace, title: &str, mut pair: [BenchContestant<'_>; 2]) -> Result<ComparisonRow> {
    let rounds = run_rounds(workspace.rounds * STARTS_PER_ROUND, &mut pair)?;
    let millis = |contestant| MeasuredValue::Millis(rounds.median_seconds(contestant) * 1000.0);
    Ok(ComparisonRow {
        title: title.to_owned(),
        ours: millis(0),
        theirs: millis(1),
        ratio: rounds.median_ratio(0, 1),
        limit: RatioLimit::AtMost(MAX_START_RATIO),
    })
}

/// Returns the time until the agent has written its trace file, and waits for the command to exit.
fn time_until_trace(mut command: Command, trace: &Path, expected: i32) -> Result<Duration> {
    remove_file(trace)?;
    command.env("FA_COUNT", trace);
    let started = Instant::now();
    let mut child = spawn_command(&mut command)?;
    while !trace.exists() {
        if child.try_wait().is_ok_and(|status| status.is_some()) && !trace.exists() {
            return Err(XtaskError::new("the agent did not start"));
        }
        std::thread::park_timeout(TRACE_POLL_INTERVAL);
    }
    let took = started.elapsed();
    wait_for_exit(child, &command, expected)?;
    Ok(took)
}
