//! A long run does not grow tired: its last iterations cost what its first ones did.
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use super::rounds::median;
use super::stage::{EXHAUSTED, NEVER, Stage, finish, start};
use super::table::{Amount, Limit, Report, Row};
use crate::failure::{Failure, Result};

const ITERATIONS: usize = 5_000;

/// So many iterations at each end are compared.
const AT_EACH_END: usize = 200;

const STARTED: &str = r#"{"event":"iteration.started""#;

// spec: F4
pub(super) fn run(stage: &Stage) -> Result<Report> {
    let count = stage.size.of(ITERATIONS);
    let millis = iterations(stage, count)?;
    let (first, last) = (&millis[..AT_EACH_END], &millis[millis.len() - AT_EACH_END..]);
    let (first, last) = (median(first), median(last));
    let what = format!("iteration {count} / iteration 1");
    let limit = Limit::Ratio(1.3);
    let row =
        Row { what, ours: Amount::Millis(last), theirs: Amount::Millis(first), ratio: last / first, limit };
    Ok(Report { rows: vec![row], ..Report::default() })
}

/// Returns the milliseconds from the start of each iteration to the start of the next.
fn iterations(stage: &Stage, count: usize) -> Result<Vec<f64>> {
    let mut command = stage.run(&stage.project("ageing")?, &stage.agent);
    command.args([
        "--agent-arg=work",
        "--promise",
        NEVER,
        "--stall",
        "1000000",
        "--max-iterations",
        &count.to_string(),
    ]);
    let mut child = start(command.stdout(Stdio::piped()))?;
    let lines = child.stdout.take().map(|out| BufReader::new(out).lines());
    let starts = lines
        .into_iter()
        .flatten()
        .map_while(std::result::Result::ok)
        .filter(|line| line.starts_with(STARTED));
    let times: Vec<Instant> = starts.map(|_| Instant::now()).collect();
    finish(child, &command, EXHAUSTED)?;
    if times.len() != count {
        return Err(Failure::new(format!(
            "{} iterations were reported, and {count} were asked for",
            times.len()
        )));
    }
    Ok(times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64() * 1000.0).collect())
}
