//! Many loops in one process: a worker with as many tasks at work as it is given, whose agents wait. What is measured is the
//! memory of ralph itself when all of them are at work.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::memory::high_water;
use super::stage::{Stage, finish, remove, start};
use super::table::{Amount, Limit, Report, Row};
use crate::failure::{Failure, Result};
use crate::shell::Line;

const LOOPS: usize = 1_000;
const MOST_MEGABYTES: f64 = 500.0;

/// What a loop of the second half may cost against one of the first.
const LINEAR: f64 = 1.3;

/// How long all of them may take to begin.
const PATIENCE: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(100);
/// The exit code of a worker that was asked to stop.
const STOPPED: i32 = 143;

// spec: F4
pub(super) fn run(stage: &Stage) -> Result<Report> {
    let stage = &stage.in_memory(stage.size.of(LOOPS))?;
    let all = stage.size.of(LOOPS).max(10);
    let (tenth, half, whole) = (peak(stage, all / 10)?, peak(stage, all / 2)?, peak(stage, all)?);
    let each = |more: f64, less: f64, loops: usize| (more - less) / loops as f64;
    let (early, late) = (each(half, tenth, all / 2 - all / 10), each(whole, half, all - all / 2));
    let rows = vec![
        Row {
            what: format!("peak memory, {all} loops at once"),
            ours: Amount::Megabytes(whole),
            theirs: Amount::Megabytes(MOST_MEGABYTES),
            ratio: whole / MOST_MEGABYTES,
            limit: Limit::Ratio(1.0),
        },
        Row {
            what: "a late loop / an early loop".to_owned(),
            ours: Amount::Megabytes(late),
            theirs: Amount::Megabytes(early),
            ratio: late / early,
            limit: Limit::Ratio(LINEAR),
        },
    ];
    Ok(Report { rows, ..Report::default() })
}

/// Returns the peak of a worker's memory in megabytes, with so many loops at work.
fn peak(stage: &Stage, loops: usize) -> Result<f64> {
    let project = project(stage, loops)?;
    let (agent, marks) = (stage.path("waiting.sh"), stage.path("waiting"));
    let marked = fs::create_dir_all(&marks).and_then(|()| {
        fs::write(&agent, format!("#!/bin/sh\n: > {}/$$\nexec sleep 100000\n", marks.display()))
    });
    marked.map_err(|error| Failure::of(stage.path("").display(), error))?;
    Line::of("chmod +x").args([agent.display().to_string()]).quietly()?;
    let mut command = ralph(stage, &project);
    command.args(["work", "--json", "--agent", "text", "--agent-cmd"]).arg(&agent);
    command.args(["--slots", &loops.to_string()]).env("RALPH_PIPELINE_STAGES", "coder");
    let child = start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))?;
    let seen = when_all_work(&child, &marks, loops);
    Line::of("kill -TERM").args([child.id().to_string()]).quietly()?;
    finish(child, &command, STOPPED)?;
    for folder in [&marks, &project, &stage.path("trees")] {
        remove(folder)?;
    }
    seen
}

fn when_all_work(child: &Child, marks: &Path, loops: usize) -> Result<f64> {
    let until = Instant::now() + PATIENCE;
    while fs::read_dir(marks).map_or(0, Iterator::count) < loops {
        if Instant::now() > until {
            return Err(Failure::new(format!("not all of {loops} loops have begun")));
        }
        thread::park_timeout(LOOK);
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    high_water(&status).ok_or_else(|| Failure::new("the memory of ralph cannot be read"))
}

/// Makes a project with a commit and so many tasks.
fn project(stage: &Stage, tasks: usize) -> Result<PathBuf> {
    let project = stage.project("many")?;
    let mut git = Line::of("git -c user.name=A -c user.email=a@example.invalid -C");
    git = git.args([project.display().to_string()]);
    git.args(["commit", "--quiet", "--allow-empty", "-m", "first"]).quietly()?;
    let file = stage.path("tasks.yaml");
    write_tasks(&file, tasks)?;
    let mut import = ralph(stage, &project);
    import.args(["task", "import"]).arg(&file).stdout(Stdio::null());
    finish(start(&mut import)?, &import, 0)?;
    Ok(project)
}

fn write_tasks(file: &Path, tasks: usize) -> Result<()> {
    let line = |number: usize| format!("  - {{id: T-{number}, spec_id: s, title: Task {number}}}\n");
    let text = format!("tasks:\n{}", (0..tasks).map(line).collect::<String>());
    fs::write(file, text).map_err(|error| Failure::of(file.display(), error))
}

/// Prepares a call of ralph whose trees lie in the stage, too.
pub(super) fn ralph(stage: &Stage, project: &Path) -> Command {
    let mut command = Command::new(&stage.ralph);
    command.current_dir(project).env("XDG_STATE_HOME", stage.path("trees")).env("HOME", stage.path("home"));
    command
}
