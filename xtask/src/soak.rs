//! `cargo xtask soak [--minutes N]`: runs the server for an hour with readers and runs, and reports its memory. Not part of CI.
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench::ServerProcess;
use crate::command_line::CommandLine;
use crate::error::{Result, XtaskError};
use crate::out;

const DEFAULT_MINUTES: u64 = 60;
const STREAM_READERS: usize = 50;
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// Memory may grow by this factor between the first minute and the end.
const MAX_MEMORY_GROWTH: f64 = 2.0;

pub(crate) fn main(args: &[String]) -> Result<()> {
    let minutes = parse_minutes(args)?;
    CommandLine::parse("cargo build --quiet --release --package ralph").run_visibly()?;
    let folder = std::env::temp_dir().join(format!("ralph-soak-{}", std::process::id()));
    let failed = |error| XtaskError::with_cause(folder.display(), error);
    fs::create_dir_all(folder.join("home")).map_err(failed)?;
    CommandLine::parse("git init --quiet").args([folder.join("project").display().to_string()]).run_quietly()?;
    let result = watch_memory(&folder, Duration::from_secs(minutes * 60));
    fs::remove_dir_all(&folder).map_err(failed)?;
    result
}

fn parse_minutes(args: &[String]) -> Result<u64> {
    let wrong = || XtaskError::new("soak accepts only --minutes N, with N of at least 1");
    match args {
        [] => Ok(DEFAULT_MINUTES),
        [option, value] if option == "--minutes" => value.parse().ok().filter(|minutes| *minutes > 0).ok_or_else(wrong),
        [..] => Err(wrong()),
    }
}

fn watch_memory(folder: &std::path::Path, time: Duration) -> Result<()> {
    let server = ServerProcess::start_command(ralph_command(folder)?)?;
    let started = Instant::now();
    let mut next_report = Duration::ZERO;
    let mut first_kilobytes = None;
    let mut last_kilobytes = 0;
    while started.elapsed() < time {
        let readers = (0..STREAM_READERS).map(|_| server.open("/api/changes/stream")).collect::<Result<Vec<_>>>()?;
        let mut run = ralph_command(folder)?;
        run.args(["run", "x", "--agent", "demo", "--json"]).stdin(Stdio::null());
        run.stdout(Stdio::null()).stderr(Stdio::null());
        run.status().map_err(|error| XtaskError::with_cause("cannot start a run", error))?;
        for path in ["/api/runs", "/api/status", "/api/inbox", "/api/tasks", "/api/stats"] {
            server.read(path)?;
        }
        drop(readers);
        last_kilobytes = resident_kilobytes(server.pid());
        if started.elapsed() >= next_report {
            out::print_line(&format!("{:>4} s  {last_kilobytes} kB", started.elapsed().as_secs()));
            next_report += REPORT_INTERVAL;
            first_kilobytes.get_or_insert(last_kilobytes);
        }
    }
    server.stop();
    let growth = last_kilobytes as f64 / first_kilobytes.unwrap_or(1).max(1) as f64;
    out::print_line(&format!("memory at the end: {last_kilobytes} kB, {growth:.2} times that of the beginning"));
    if growth <= MAX_MEMORY_GROWTH { Ok(()) } else { Err(XtaskError::new("the memory of the server grows")) }
}

fn ralph_command(folder: &std::path::Path) -> Result<Command> {
    let own = std::env::current_exe().map_err(|error| XtaskError::with_cause("cannot find this executable", error))?;
    let program: PathBuf = own.ancestors().nth(2).unwrap_or(&own).join("release/ralph");
    let mut command = Command::new(program);
    command.current_dir(folder.join("project")).env("HOME", folder.join("home")).env_remove("XDG_STATE_HOME");
    Ok(command)
}

/// Returns the resident memory of a process; 0 if it is unknown.
fn resident_kilobytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_an_hour_unless_it_is_given() {
        let parse = |args: &[&str]| parse_minutes(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>());
        assert_eq!(parse(&[]), Ok(60));
        assert_eq!(parse(&["--minutes", "5"]), Ok(5));
        assert!(parse(&["--minutes", "0"]).is_err());
        assert!(parse(&["--hours", "1"]).is_err());
    }
}
