//! Time to parse, log and search a long output, against programs that do part of this work.
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::round_times::{BenchContestant, RoundTimes, run_rounds};
use super::transcript::{self, MEGABYTE};
use super::workspace::{BenchWorkspace, remove_file, remove_project, time_command};
use crate::command_line::CommandLine;
use crate::error::Result;

const OUTPUT_MEGABYTES: usize = 500;

/// A long file needs few rounds.
const MAX_ROUNDS: usize = 3;

const SHELL_LOOP: &str = r#"cat "$1" | cat "$2" | tee log | grep -q '<promise>DONE</promise>'"#;

const JQ_SCRIPT: &str =
    r#"cat "$1" | tee log | jq -r 'select(.type=="assistant")|.message.content[]?|select(.type=="text")|.text'"#;

// spec: F2
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let megabytes = workspace.size.scaled_count(OUTPUT_MEGABYTES);
    // Room for the file and a log of the same length.
    let workspace = &workspace.in_memory(megabytes * 5 / 2)?;
    let file = workspace.path("long.ndjson");
    transcript::write_transcript(&file, megabytes * MEGABYTE)?;
    let mut ralph = || time_ralph_reading(workspace, &file);
    let mut shell = || time_and_remove_log(workspace, workspace.shell_command(SHELL_LOOP, &[&workspace.prompt, &file]));
    let mut jq = || time_and_remove_log(workspace, workspace.shell_command(JQ_SCRIPT, &[&file]));
    let mut contestants: Vec<BenchContestant<'_>> = vec![&mut ralph, &mut shell];
    let mut notes = vec![workspace.location_note()];
    if CommandLine::parse("jq --version").can_run() {
        contestants.push(&mut jq);
    } else {
        notes.push("not compared with tee and jq: jq is not installed (`apt-get install jq`)".to_owned());
    }
    let with_jq = contestants.len() > 2;
    let rounds = run_rounds(workspace.rounds.min(MAX_ROUNDS), &mut contestants)?;
    let rows = std::iter::once(compare_with_shell(&rounds, megabytes))
        .chain(with_jq.then(|| compare_with_jq(&rounds, megabytes)));
    Ok(BenchReport { rows: rows.collect(), notes })
}

fn compare_with_shell(rounds: &RoundTimes, megabytes: usize) -> ComparisonRow {
    comparison_row(rounds, format!("{megabytes} MB / cat, tee and grep"), 1, RatioLimit::AtMost(1.0))
}

fn compare_with_jq(rounds: &RoundTimes, megabytes: usize) -> ComparisonRow {
    comparison_row(rounds, format!("{megabytes} MB / cat, tee and jq"), 2, RatioLimit::AtMost(0.1))
}

fn comparison_row(rounds: &RoundTimes, title: String, other: usize, limit: RatioLimit) -> ComparisonRow {
    let (ours, theirs) =
        (MeasuredValue::Seconds(rounds.median_seconds(0)), MeasuredValue::Seconds(rounds.median_seconds(other)));
    ComparisonRow { title, ours, theirs, ratio: rounds.median_ratio(0, other), limit }
}

/// Returns a command for one iteration with an agent that prints the file.
pub(super) fn reading_command(workspace: &BenchWorkspace, project: &Path, file: &Path) -> Command {
    let mut command = workspace.ralph_run_command(project, Path::new("/bin/cat"));
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

/// Times a script and removes its log, because there is room for only one.
fn time_and_remove_log(workspace: &BenchWorkspace, script: Command) -> Result<Duration> {
    let took = time_command(script, 0)?;
    remove_file(&workspace.path("log"))?;
    Ok(took)
}

fn time_ralph_reading(workspace: &BenchWorkspace, file: &Path) -> Result<Duration> {
    let project = workspace.create_project("reading")?;
    let took = time_command(reading_command(workspace, &project, file), 0)?;
    remove_project(&project)?;
    Ok(took)
}
