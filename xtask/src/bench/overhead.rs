//! Overhead of an iteration: a loop with all its records stored, against a bare shell loop.
use std::path::Path;
use std::time::{Duration, Instant};

use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::round_times::run_rounds;
use super::workspace::{
    BenchWorkspace, EXHAUSTED_EXIT_CODE, UNSAID_PROMISE, spawn_command, time_command, wait_for_exit,
};
use crate::error::Result;

const ITERATIONS: usize = 1_000;

const SHELL_LOOP: &str = r#"
    i=0
    while [ $i -lt "$3" ]; do
        cat "$1" | "$2" work | tee log | grep -q '<promise>NEVER_SAID</promise>'
        i=$((i+1))
    done"#;

// spec: F1
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let count = workspace.size.scaled_count(ITERATIONS);
    let project = workspace.create_project("overhead")?;
    let number = count.to_string();
    let mut ralph = || {
        let mut command = workspace.ralph_run_command(&project, &workspace.agent);
        command.args([
            "--agent-arg=work",
            "--promise",
            UNSAID_PROMISE,
            "--stall",
            "1000000",
            "--max-iterations",
            &number,
        ]);
        time_command(command, EXHAUSTED_EXIT_CODE)
    };
    let mut shell = || {
        time_command(workspace.shell_command(SHELL_LOOP, &[&workspace.prompt, &workspace.agent, Path::new(&number)]), 0)
    };
    let mut alone = || time_agent_alone(workspace, count);
    let rounds = run_rounds(workspace.rounds, &mut [&mut ralph, &mut shell, &mut alone])?;
    let each = |contestant| MeasuredValue::Millis(rounds.median_seconds(contestant) * 1000.0 / count as f64);
    let row = |what: &str, one, limit| ComparisonRow {
        title: what.to_owned(),
        ours: each(one),
        theirs: each(1),
        ratio: rounds.median_ratio(one, 1),
        limit,
    };
    let rows = vec![
        row("one iteration / shell loop", 0, RatioLimit::AtMost(0.8)),
        row("the floor: the agent alone / shell loop", 2, RatioLimit::Unlimited),
    ];
    Ok(BenchReport { rows, ..BenchReport::default() })
}

/// Times `count` runs of the agent alone, the lower bound for any loop.
fn time_agent_alone(workspace: &BenchWorkspace, count: usize) -> Result<Duration> {
    let started = Instant::now();
    for _ in 0..count {
        let mut command = workspace.agent_command()?;
        wait_for_exit(spawn_command(&mut command)?, &command, 0)?;
    }
    Ok(started.elapsed())
}
