//! Time of frequent commands in a project with ten thousand tasks.
use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::many::ralph_command;
use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::round_times::median;
use super::workspace::{BenchWorkspace, remove_project, time_command};
use crate::error::{Result, XtaskError};

const TASK_COUNT: usize = 10_000;
const MAX_COMMAND_MILLIS: f64 = 100.0;
const SAMPLE_COUNT: usize = 9;

// spec: F6
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let count = workspace.size.scaled_count(TASK_COUNT);
    let project = workspace.create_project("tasks")?;
    let file = workspace.path("tasks.yaml");
    write_dependent_tasks(&file, count)?;
    let import = file.display().to_string();
    time_ralph_command(workspace, &project, &["task", "import", &import])?;
    // All tasks depend on the first one. While it is blocked, a worker checks all of them and finds none ready.
    time_ralph_command(workspace, &project, &["task", "edit", "T-0", "--status", "blocked"])?;
    let rows = vec![
        measure_row(workspace, &project, &format!("status, {count} tasks"), &["status"])?,
        measure_row(workspace, &project, &format!("status for programs, {count} tasks"), &["status", "--json"])?,
        measure_row(workspace, &project, &format!("inbox, {count} tasks"), &["inbox"])?,
        measure_row(workspace, &project, &format!("task list, {count} tasks"), &["task", "list", "--json"])?,
        measure_row(workspace, &project, &format!("next task, {count} tasks"), &["work", "--until-idle", "--json"])?,
    ];
    remove_project(&project)?;
    Ok(BenchReport { rows, ..BenchReport::default() })
}

fn measure_row(workspace: &BenchWorkspace, project: &Path, title: &str, args: &[&str]) -> Result<ComparisonRow> {
    let mut times = Vec::new();
    for _ in 0..SAMPLE_COUNT {
        times.push(time_ralph_command(workspace, project, args)?);
    }
    let middle = median(&times);
    Ok(ComparisonRow {
        title: title.to_owned(),
        ours: MeasuredValue::Millis(middle),
        theirs: MeasuredValue::Millis(MAX_COMMAND_MILLIS),
        ratio: middle / MAX_COMMAND_MILLIS,
        limit: RatioLimit::AtMost(1.0),
    })
}

/// Runs a ralph command and returns its time in milliseconds.
pub(super) fn time_ralph_command(workspace: &BenchWorkspace, project: &Path, args: &[&str]) -> Result<f64> {
    let mut command = ralph_command(workspace, project);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(time_command(command, 0)?.as_secs_f64() * 1000.0)
}

/// Writes tasks that all depend on the first one.
pub(super) fn write_dependent_tasks(file: &Path, tasks: usize) -> Result<()> {
    let line = |number: usize| {
        let after = if number == 0 { "" } else { ", dependencies: [T-0]" };
        format!("  - {{id: T-{number}, spec_id: s, title: Task {number}{after}}}\n")
    };
    let text = format!("tasks:\n{}", (0..tasks).map(line).collect::<String>());
    fs::write(file, text).map_err(|error| XtaskError::with_cause(file.display(), error))
}
