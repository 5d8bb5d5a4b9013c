//! Ten thousand tasks: what people and workers ask of them again and again stays quick.
use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::many::ralph;
use super::rounds::median;
use super::stage::{Stage, remove, time};
use super::table::{Amount, Limit, Report, Row};
use crate::failure::{Failure, Result};

const TASKS: usize = 10_000;
const MOST_MILLIS: f64 = 100.0;
const TIMES: usize = 9;

// spec: F6
pub(super) fn run(stage: &Stage) -> Result<Report> {
    let count = stage.size.of(TASKS);
    let project = stage.project("tasks")?;
    let file = stage.path("tasks.yaml");
    write(&file, count)?;
    let import = file.display().to_string();
    once(stage, &project, &["task", "import", &import])?;
    // The first one is never done: nothing is ready, and a worker looks through all of them in vain.
    once(stage, &project, &["task", "edit", "T-0", "--status", "blocked"])?;
    let rows = vec![
        row(stage, &project, (&format!("status, {count} tasks"), &["status", "--json"]))?,
        row(stage, &project, (&format!("task list, {count} tasks"), &["task", "list", "--json"]))?,
        row(stage, &project, (&format!("what is next, {count} tasks"), &["work", "--until-idle", "--json"]))?,
    ];
    remove(&project)?;
    Ok(Report { rows, ..Report::default() })
}

fn row(stage: &Stage, project: &Path, (what, args): (&str, &[&str])) -> Result<Row> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        times.push(once(stage, project, args)?);
    }
    let middle = median(&times);
    Ok(Row {
        what: what.to_owned(),
        ours: Amount::Millis(middle),
        theirs: Amount::Millis(MOST_MILLIS),
        ratio: middle / MOST_MILLIS,
        limit: Limit::Ratio(1.0),
    })
}

/// Returns the milliseconds of one call.
fn once(stage: &Stage, project: &Path, args: &[&str]) -> Result<f64> {
    let mut command = ralph(stage, project);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(time(command, 0)?.as_secs_f64() * 1000.0)
}

/// Writes tasks that all wait for the first.
fn write(file: &Path, tasks: usize) -> Result<()> {
    let line = |number: usize| {
        let after = if number == 0 { "" } else { ", dependencies: [T-0]" };
        format!("  - {{id: T-{number}, spec_id: s, title: Task {number}{after}}}\n")
    };
    let text = format!("tasks:\n{}", (0..tasks).map(line).collect::<String>());
    fs::write(file, text).map_err(|error| Failure::of(file.display(), error))
}
