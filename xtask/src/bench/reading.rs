//! How fast a long output is read: parsed, logged and searched for the promise, against programs that do part of it.
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::rounds::{Contestant, Rounds, take_turns};
use super::stage::{Stage, remove, remove_file, time};
use super::table::{Amount, Limit, Report, Row};
use super::transcript::{self, MEGABYTE};
use crate::failure::Result;
use crate::shell::Line;

const MEGABYTES: usize = 500;

/// A long file is its own average.
const MOST_ROUNDS: usize = 3;

const SHELL_LOOP: &str = r#"cat "$1" | cat "$2" | tee log | grep -q '<promise>DONE</promise>'"#;

const JQ: &str = r#"cat "$1" | tee log | jq -r 'select(.type=="assistant")|.message.content[]?|select(.type=="text")|.text'"#;

// spec: F2
pub(super) fn run(stage: &Stage) -> Result<Report> {
    let megabytes = stage.size.of(MEGABYTES);
    // The file itself and a log of the same length.
    let stage = &stage.in_memory(megabytes * 5 / 2)?;
    let file = stage.path("long.ndjson");
    transcript::write(&file, megabytes * MEGABYTE)?;
    let mut ralph = || read_by_ralph(stage, &file);
    let mut shell = || without_log(stage, stage.script(SHELL_LOOP, &[&stage.prompt, &file]));
    let mut jq = || without_log(stage, stage.script(JQ, &[&file]));
    let mut contestants: Vec<Contestant<'_>> = vec![&mut ralph, &mut shell];
    let mut notes = vec![stage.whereabouts()];
    if Line::of("jq --version").works() {
        contestants.push(&mut jq);
    } else {
        notes.push("not compared with tee and jq: jq is not installed (`apt-get install jq`)".to_owned());
    }
    let with_jq = contestants.len() > 2;
    let rounds = take_turns(stage.rounds.min(MOST_ROUNDS), &mut contestants)?;
    let rows = std::iter::once(beside_shell(&rounds, megabytes))
        .chain(with_jq.then(|| beside_jq(&rounds, megabytes)));
    Ok(Report { rows: rows.collect(), notes })
}

fn beside_shell(rounds: &Rounds, megabytes: usize) -> Row {
    row(rounds, format!("{megabytes} MB / cat, tee and grep"), 1, Limit::Ratio(1.0))
}

fn beside_jq(rounds: &Rounds, megabytes: usize) -> Row {
    row(rounds, format!("{megabytes} MB / cat, tee and jq"), 2, Limit::Ratio(0.1))
}

fn row(rounds: &Rounds, what: String, other: usize, limit: Limit) -> Row {
    let (ours, theirs) = (Amount::Seconds(rounds.time(0)), Amount::Seconds(rounds.time(other)));
    Row { what, ours, theirs, ratio: rounds.ratio(0, other), limit }
}

/// Prepares one iteration with an agent that prints the file.
pub(super) fn reader(stage: &Stage, project: &Path, file: &Path) -> Command {
    let mut command = stage.run(project, Path::new("/bin/cat"));
    command.arg("--agent-arg").arg(file).args([
        "--output-format",
        "claude",
        "--promise",
        "DONE",
        "--max-iterations",
        "1",
    ]);
    command
}

/// Measures a script that writes a log, and removes the log: there is room for one.
fn without_log(stage: &Stage, script: Command) -> Result<Duration> {
    let took = time(script, 0)?;
    remove_file(&stage.path("log"))?;
    Ok(took)
}

fn read_by_ralph(stage: &Stage, file: &Path) -> Result<Duration> {
    let project = stage.project("reading")?;
    let took = time(reader(stage, &project, file), 0)?;
    remove(&project)?;
    Ok(took)
}
