//! How long until something happens: the version on the screen, and the first agent at work.
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::rounds::{Contestant, take_turns};
use super::stage::{EXHAUSTED, NEVER, Stage, finish, remove_file, start, time};
use super::table::{Amount, Limit, Report, Row};
use crate::failure::{Failure, Result};

/// One start is short: many of them make a round of the others.
const STARTS: usize = 20;

/// "A few milliseconds", where starting a program takes one: machines differ, and one differs from hour to hour.
const A_FEW: f64 = 6.0;

/// How often the trace of the agent is looked for.
const LOOK: Duration = Duration::from_micros(100);

// spec: F5
pub(super) fn run(stage: &Stage) -> Result<Report> {
    Ok(Report { rows: vec![version(stage)?, first_agent(stage)?], ..Report::default() })
}

fn version(stage: &Stage) -> Result<Row> {
    let quiet = |mut command: Command| {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        time(command, 0)
    };
    let mut ours = || {
        let mut command = Command::new(&stage.ralph);
        command.arg("--version");
        quiet(command)
    };
    row(stage, "ralph --version / true", [&mut ours, &mut || quiet(Command::new("true"))])
}

fn first_agent(stage: &Stage) -> Result<Row> {
    let project = stage.project("start")?;
    let trace = stage.path("trace");
    let mut ours = || {
        let mut command = stage.run(&project, &stage.agent);
        command.args(["--agent-arg=work", "--promise", NEVER, "--max-iterations", "1"]);
        until_trace(command, &trace, EXHAUSTED)
    };
    let mut alone = || until_trace(stage.agent_alone()?, &trace, 0);
    row(stage, "until the agent works / started alone", [&mut ours, &mut alone])
}

fn row(stage: &Stage, what: &str, mut pair: [Contestant<'_>; 2]) -> Result<Row> {
    let rounds = take_turns(stage.rounds * STARTS, &mut pair)?;
    let millis = |contestant| Amount::Millis(rounds.time(contestant) * 1000.0);
    Ok(Row {
        what: what.to_owned(),
        ours: millis(0),
        theirs: millis(1),
        ratio: rounds.ratio(0, 1),
        limit: Limit::Ratio(A_FEW),
    })
}

/// Returns how long it took until the agent left its trace, and lets everything end.
fn until_trace(mut command: Command, trace: &Path, expected: i32) -> Result<Duration> {
    remove_file(trace)?;
    command.env("FA_COUNT", trace);
    let begun = Instant::now();
    let mut child = start(&mut command)?;
    while !trace.exists() {
        if child.try_wait().is_ok_and(|status| status.is_some()) && !trace.exists() {
            return Err(Failure::new("the agent was never started"));
        }
        std::thread::park_timeout(LOOK);
    }
    let took = begun.elapsed();
    finish(child, &command, expected)?;
    Ok(took)
}
