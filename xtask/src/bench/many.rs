//! Memory of a worker that runs many loops at once, with agents that only wait.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::memory::parse_peak_memory;
use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::workspace::{BenchWorkspace, remove_folder, spawn_command, wait_for_exit};
use crate::command_line::CommandLine;
use crate::error::{Result, XtaskError};

const LOOP_COUNT: usize = 1_000;
const MAX_MEGABYTES: f64 = 500.0;

/// Limit for the memory of a late loop relative to an early one.
const MAX_GROWTH_RATIO: f64 = 1.3;

/// Timeout until all loops have started.
const START_TIMEOUT: Duration = Duration::from_secs(900);
const START_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The exit code of a worker that was stopped.
const TERMINATED_EXIT_CODE: i32 = 143;

// spec: F4
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let workspace = &workspace.in_memory(workspace.size.scaled_count(LOOP_COUNT))?;
    let all = workspace.size.scaled_count(LOOP_COUNT).max(10);
    let (tenth, half, whole) = (
        measure_peak_memory(workspace, all / 10)?,
        measure_peak_memory(workspace, all / 2)?,
        measure_peak_memory(workspace, all)?,
    );
    let each = |more: f64, less: f64, loops: usize| (more - less) / loops as f64;
    let (early, late) = (each(half, tenth, all / 2 - all / 10), each(whole, half, all - all / 2));
    let rows = vec![
        ComparisonRow {
            title: format!("peak memory, {all} loops at once"),
            ours: MeasuredValue::Megabytes(whole),
            theirs: MeasuredValue::Megabytes(MAX_MEGABYTES),
            ratio: whole / MAX_MEGABYTES,
            limit: RatioLimit::AtMost(1.0),
        },
        ComparisonRow {
            title: "a late loop / an early loop".to_owned(),
            ours: MeasuredValue::Megabytes(late),
            theirs: MeasuredValue::Megabytes(early),
            ratio: late / early,
            limit: RatioLimit::AtMost(MAX_GROWTH_RATIO),
        },
    ];
    Ok(BenchReport { rows, ..BenchReport::default() })
}

/// Returns the peak memory of a worker with `loops` active loops, in megabytes.
fn measure_peak_memory(workspace: &BenchWorkspace, loops: usize) -> Result<f64> {
    let project = create_project_with_tasks(workspace, loops)?;
    let (agent, marks) = (workspace.path("waiting.sh"), workspace.path("waiting"));
    let marked = fs::create_dir_all(&marks)
        .and_then(|()| fs::write(&agent, format!("#!/bin/sh\n: > {}/$$\nexec sleep 100000\n", marks.display())));
    marked.map_err(|error| XtaskError::with_cause(workspace.path("").display(), error))?;
    CommandLine::parse("chmod +x").args([agent.display().to_string()]).run_quietly()?;
    let mut command = ralph_command(workspace, &project);
    command.args(["work", "--json", "--agent", "text", "--agent-cmd"]).arg(&agent);
    command.args(["--slots", &loops.to_string()]).env("RALPH_PIPELINE_STAGES", "coder");
    let child = spawn_command(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))?;
    let measured = measure_when_all_started(&child, &marks, loops);
    CommandLine::parse("kill -TERM").args([child.id().to_string()]).run_quietly()?;
    wait_for_exit(child, &command, TERMINATED_EXIT_CODE)?;
    for folder in [&marks, &project, &workspace.path("trees")] {
        remove_folder(folder)?;
    }
    measured
}

fn measure_when_all_started(child: &Child, marks: &Path, loops: usize) -> Result<f64> {
    let deadline = Instant::now() + START_TIMEOUT;
    while fs::read_dir(marks).map_or(0, Iterator::count) < loops {
        if Instant::now() > deadline {
            return Err(XtaskError::new(format!("not all of {loops} loops have started")));
        }
        thread::park_timeout(START_POLL_INTERVAL);
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    parse_peak_memory(&status).ok_or_else(|| XtaskError::new("cannot read the memory usage of ralph"))
}

/// Creates a project with one commit and `tasks` tasks.
fn create_project_with_tasks(workspace: &BenchWorkspace, tasks: usize) -> Result<PathBuf> {
    let project = workspace.create_project("many")?;
    let mut git = CommandLine::parse("git -c user.name=A -c user.email=a@example.invalid -C");
    git = git.args([project.display().to_string()]);
    git.args(["commit", "--quiet", "--allow-empty", "-m", "first"]).run_quietly()?;
    let file = workspace.path("tasks.yaml");
    write_tasks(&file, tasks)?;
    let mut import = ralph_command(workspace, &project);
    import.args(["task", "import"]).arg(&file).stdout(Stdio::null());
    wait_for_exit(spawn_command(&mut import)?, &import, 0)?;
    Ok(project)
}

fn write_tasks(file: &Path, tasks: usize) -> Result<()> {
    let line = |number: usize| format!("  - {{id: T-{number}, spec_id: s, title: Task {number}}}\n");
    let text = format!("tasks:\n{}", (0..tasks).map(line).collect::<String>());
    fs::write(file, text).map_err(|error| XtaskError::with_cause(file.display(), error))
}

/// Returns a ralph command whose work trees are in the workspace.
pub(super) fn ralph_command(workspace: &BenchWorkspace, project: &Path) -> Command {
    let mut command = Command::new(&workspace.ralph);
    command.current_dir(project).env("XDG_STATE_HOME", workspace.path("trees")).env("HOME", workspace.path("home"));
    command
}
