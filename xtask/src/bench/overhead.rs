//! What an iteration costs beside the agent itself: a loop with all its records stored, against the bare shell loop.
use std::path::Path;
use std::time::{Duration, Instant};

use super::rounds::take_turns;
use super::stage::{EXHAUSTED, NEVER, Stage, finish, start, time};
use super::table::{Amount, Limit, Report, Row};
use crate::failure::Result;

const ITERATIONS: usize = 1_000;

const SHELL_LOOP: &str = r#"
    i=0
    while [ $i -lt "$3" ]; do
        cat "$1" | "$2" work | tee log | grep -q '<promise>NEVER_SAID</promise>'
        i=$((i+1))
    done"#;

// spec: F1
pub(super) fn run(stage: &Stage) -> Result<Report> {
    let count = stage.size.of(ITERATIONS);
    let project = stage.project("overhead")?;
    let number = count.to_string();
    let mut ralph = || {
        let mut command = stage.run(&project, &stage.agent);
        command.args([
            "--agent-arg=work",
            "--promise",
            NEVER,
            "--stall",
            "1000000",
            "--max-iterations",
            &number,
        ]);
        time(command, EXHAUSTED)
    };
    let mut shell = || time(stage.script(SHELL_LOOP, &[&stage.prompt, &stage.agent, Path::new(&number)]), 0);
    let mut alone = || agent_alone(stage, count);
    let rounds = take_turns(stage.rounds, &mut [&mut ralph, &mut shell, &mut alone])?;
    let each = |contestant| Amount::Millis(rounds.time(contestant) * 1000.0 / count as f64);
    let row = |what: &str, one, limit| Row {
        what: what.to_owned(),
        ours: each(one),
        theirs: each(1),
        ratio: rounds.ratio(one, 1),
        limit,
    };
    let rows = vec![
        row("one iteration / shell loop", 0, Limit::Ratio(0.8)),
        row("the floor: the agent alone / shell loop", 2, Limit::None),
    ];
    Ok(Report { rows, ..Report::default() })
}

/// Starts the agent and waits for it, so many times: nothing that starts it can be faster.
fn agent_alone(stage: &Stage, count: usize) -> Result<Duration> {
    let begun = Instant::now();
    for _ in 0..count {
        let mut command = stage.agent_alone()?;
        finish(start(&mut command)?, &command, 0)?;
    }
    Ok(begun.elapsed())
}
