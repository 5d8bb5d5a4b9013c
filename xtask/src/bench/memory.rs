//! The most memory that ralph itself takes, however long the output and its lines are.
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::reading::reader;
use super::stage::{Stage, finish, remove, start};
use super::table::{Amount, Limit, Report, Row};
use super::transcript::{self, MEGABYTE};
use crate::failure::{Failure, Result};

const MOST_MEGABYTES: f64 = 40.0;

/// How often the kernel is asked. It keeps the peak itself, so only the last moment can be missed.
const LOOK: Duration = Duration::from_millis(2);

// spec: F2
pub(super) fn run(stage: &Stage) -> Result<Report> {
    if !Path::new("/proc/self/status").exists() {
        let note = "memory is not measured: this system has no /proc".to_owned();
        return Ok(Report { notes: vec![note], ..Report::default() });
    }
    let long = stage.size.of(500);
    let stage = &stage.in_memory(long * 5 / 2)?;
    let line = stage.size.of(50);
    let rows = vec![
        row(stage, "1 MB of output", |path| transcript::write(path, MEGABYTE))?,
        row(stage, &format!("{long} MB of output"), |path| transcript::write(path, long * MEGABYTE))?,
        row(stage, &format!("one line of {line} MB"), |path| {
            transcript::write_long_line(path, line * MEGABYTE)
        })?,
    ];
    Ok(Report { rows, ..Report::default() })
}

fn row(stage: &Stage, what: &str, write: impl FnOnce(&Path) -> Result<()>) -> Result<Row> {
    let file = stage.path("memory.ndjson");
    write(&file)?;
    let project = stage.project("memory")?;
    let peak = peak(reader(stage, &project, &file))?;
    remove(&project)?;
    let (ours, theirs) = (Amount::Megabytes(peak), Amount::Megabytes(MOST_MEGABYTES));
    Ok(Row {
        what: format!("peak memory, {what}"),
        ours,
        theirs,
        ratio: peak / MOST_MEGABYTES,
        limit: Limit::Ratio(1.0),
    })
}

/// Runs the command to its good end and returns its own peak of memory in megabytes.
fn peak(mut command: Command) -> Result<f64> {
    let child = start(&mut command)?;
    let status = format!("/proc/{}/status", child.id());
    let (done, ended) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let finished = finish(child, &command, 0);
        let _ = done.send(());
        finished
    });
    let mut peak = None;
    while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(LOOK) {
        let text = fs::read_to_string(&status).unwrap_or_default();
        peak = high_water(&text).or(peak);
    }
    waiter.join().map_err(|_| Failure::new("the wait for ralph broke down"))??;
    peak.ok_or_else(|| Failure::new("ralph ended before its memory could be read"))
}

/// Returns the peak that the kernel reports, in megabytes.
pub(super) fn high_water(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_the_kernels_words() {
        assert_eq!(
            high_water("Name:\tralph\nVmHWM:\t   12800 kB\n").map(|peak| peak.to_string()),
            Some("12.5".to_owned())
        );
        assert_eq!(high_water("Name:\tralph\n"), None);
    }
}
