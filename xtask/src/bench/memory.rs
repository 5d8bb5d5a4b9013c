//! Peak memory of ralph for long outputs and long lines.
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::reading::reading_command;
use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::transcript::{self, MEGABYTE};
use super::workspace::{BenchWorkspace, remove_project, spawn_command, wait_for_exit};
use crate::error::{Result, XtaskError};

const MAX_MEGABYTES: f64 = 40.0;

/// How often to poll the kernel. It tracks the peak itself, so only the last moment can be missed.
const MEMORY_POLL_INTERVAL: Duration = Duration::from_millis(2);

// spec: F2
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    if !Path::new("/proc/self/status").exists() {
        let note = "memory is not measured: this system has no /proc".to_owned();
        return Ok(BenchReport { notes: vec![note], ..BenchReport::default() });
    }
    let long = workspace.size.scaled_count(500);
    let workspace = &workspace.in_memory(long * 5 / 2)?;
    let line = workspace.size.scaled_count(50);
    let rows = vec![
        measure_row(workspace, "1 MB of output", |path| transcript::write_transcript(path, MEGABYTE))?,
        measure_row(workspace, &format!("{long} MB of output"), |path| {
            transcript::write_transcript(path, long * MEGABYTE)
        })?,
        measure_row(workspace, &format!("one line of {line} MB"), |path| {
            transcript::write_long_line(path, line * MEGABYTE)
        })?,
    ];
    Ok(BenchReport { rows, ..BenchReport::default() })
}

fn measure_row(
    workspace: &BenchWorkspace,
    what: &str,
    write: impl FnOnce(&Path) -> Result<()>,
) -> Result<ComparisonRow> {
    let file = workspace.path("memory.ndjson");
    write(&file)?;
    let project = workspace.create_project("memory")?;
    let peak = measure_peak(reading_command(workspace, &project, &file), 0)?;
    remove_project(&project)?;
    let (ours, theirs) = (MeasuredValue::Megabytes(peak), MeasuredValue::Megabytes(MAX_MEGABYTES));
    Ok(ComparisonRow {
        title: format!("peak memory, {what}"),
        ours,
        theirs,
        ratio: peak / MAX_MEGABYTES,
        limit: RatioLimit::AtMost(1.0),
    })
}

/// Runs the command, which must exit with code `expected`, and returns its peak memory in megabytes.
pub(super) fn measure_peak(mut command: Command, expected: i32) -> Result<f64> {
    let child = spawn_command(&mut command)?;
    let status = format!("/proc/{}/status", child.id());
    let (done, ended) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let finished = wait_for_exit(child, &command, expected);
        let _ = done.send(());
        finished
    });
    let mut peak = None;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(MEMORY_POLL_INTERVAL) {
        let text = fs::read_to_string(&status).unwrap_or_default();
        peak = parse_peak_memory(&text).or(peak);
    }
    waiter.join().map_err(|_| XtaskError::new("the thread that waits for ralph panicked"))??;
    peak.ok_or_else(|| XtaskError::new("ralph exited before its memory could be read"))
}

/// Returns the peak that the kernel reports, in megabytes.
pub(super) fn parse_peak_memory(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_parsed_from_proc_status() {
        assert_eq!(
            parse_peak_memory("Name:\tralph\nVmHWM:\t   12800 kB\n").map(|peak| peak.to_string()),
            Some("12.5".to_owned())
        );
        assert_eq!(parse_peak_memory("Name:\tralph\n"), None);
    }
}
