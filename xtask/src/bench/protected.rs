//! Time to compare ten thousand protected tests at a claim, against `sha256sum` of the same files.
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::round_times::run_rounds;
use super::workspace::{BenchWorkspace, remove_project, time_command};
use crate::command_line::CommandLine;
use crate::error::{Result, XtaskError};

const FILE_COUNT: usize = 10_000;
const FILES_PER_FOLDER: usize = 100;
const LINES_PER_FILE: usize = 300;

/// All files have new times, so that git reads them again.
const MAX_TOUCHED_RATIO: f64 = 2.0;
/// Nothing changed.
const MAX_UNCHANGED_RATIO: f64 = 0.5;

const HASH_FILES: &str = "cd \"$1\" && find tests -type f -print0 | xargs -0 sha256sum";

// spec: V15
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let count = workspace.size.scaled_count(FILE_COUNT);
    let project = workspace.create_project("protected")?;
    write_tests(&project, count)?;
    let idle = write_agent(workspace, "idle.sh", "true")?;
    let touching = write_agent(workspace, "touch.sh", "find tests -type f -print0 | xargs -0 touch")?;
    let claim = |agent: &Path, tests: &str| -> Result<Duration> {
        git_in(&project, "update-index -q --refresh")?;
        let mut command = workspace.ralph_run_command(&project, agent);
        command.env("RALPH_VERIFICATION_TESTS", tests);
        command.args(["--promise", "DONE", "--check", "true", "--no-baseline", "--max-iterations", "1"]);
        time_command(command, 0)
    };
    let mut hashed = || time_command(workspace.shell_command(HASH_FILES, &[&project]), 0);
    let rounds = run_rounds(
        workspace.rounds,
        &mut [
            &mut || claim(&idle, "protect"),
            &mut || claim(&idle, "off"),
            &mut || claim(&touching, "protect"),
            &mut || claim(&touching, "off"),
            &mut hashed,
        ],
    )?;
    let theirs = rounds.median_seconds(4);
    let row = |title: &str, with: usize, most: f64| {
        let ours = (rounds.median_seconds(with) - rounds.median_seconds(with + 1)).max(0.0);
        ComparisonRow {
            title: format!("{title}, {count} files / sha256sum"),
            ours: MeasuredValue::Millis(ours * 1000.0),
            theirs: MeasuredValue::Millis(theirs * 1000.0),
            ratio: ours / theirs,
            limit: RatioLimit::AtMost(most),
        }
    };
    let rows = vec![
        row("protected tests with new times", 2, MAX_TOUCHED_RATIO),
        row("unchanged protected tests", 0, MAX_UNCHANGED_RATIO),
    ];
    remove_project(&project)?;
    let notes = vec!["ours: a run with `verification.tests: protect` less one with `off`".to_owned()];
    Ok(BenchReport { rows, notes })
}

fn write_tests(project: &Path, count: usize) -> Result<()> {
    for number in 0..count {
        let folder = project.join(format!("tests/{}", number / FILES_PER_FOLDER));
        let text = format!("test {number}\n").repeat(LINES_PER_FILE);
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(format!("{number}.txt")), text));
        written.map_err(|error| XtaskError::with_cause(folder.display(), error))?;
    }
    git_in(project, "add --all")?;
    git_in(project, "-c user.name=bench -c user.email=bench@example.invalid commit --quiet -m tests")
}

fn git_in(project: &Path, args: &str) -> Result<()> {
    let folder = ["-C".to_owned(), project.display().to_string()];
    CommandLine::parse("git").args(folder).args(args.split(' ')).run_quietly()
}

/// Writes an agent that does this and claims.
fn write_agent(workspace: &BenchWorkspace, name: &str, deed: &str) -> Result<PathBuf> {
    let path = workspace.path(name);
    let text = format!("#!/bin/sh\ncat > /dev/null\n{deed}\necho '<promise>DONE</promise>'\n");
    let written = fs::write(&path, text).and_then(|()| fs::set_permissions(&path, fs::Permissions::from_mode(0o755)));
    written.map_err(|error| XtaskError::with_cause(path.display(), error))?;
    Ok(path)
}
