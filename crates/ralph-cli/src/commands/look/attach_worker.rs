//! `ralph attach` for a background worker: its log shows all its tasks and runs.
use std::time::Duration;

use ralph_app::background_worker::{FollowedWorker, WorkerStatus};
use ralph_app::control::ControlAdvice;
use ralph_app::error::AppError;
use ralph_core::outcome::exit_code;

use crate::commands::out;
use crate::error::CommandError;

/// How often the log is read.
const LOG_POLL_INTERVAL: Duration = Duration::from_millis(150);
/// How many earlier lines are shown first.
const PAST_LINES_SHOWN: usize = 20;

/// Prints the log of a worker until it ends, and returns its exit code. Ctrl-C detaches.
pub async fn follow_worker(mut worker: FollowedWorker, json: bool) -> Result<u8, CommandError> {
    let id = worker.id().to_owned();
    tokio::select! {
        code = print_log(&mut worker, json) => code,
        _ = tokio::signal::ctrl_c() => {
            out::print_note(&format!("\ndetached: {id} continues; `ralph attach` follows it again"));
            Ok(exit_code::SIGINT)
        }
    }
}

async fn print_log(worker: &mut FollowedWorker, json: bool) -> Result<u8, CommandError> {
    let mut past = worker.read_new_lines()?;
    let is_json_log = past.first().is_some_and(|line| line.starts_with('{'));
    if json && !is_json_log {
        let message = format!("{} reports as text", worker.id());
        return Err(AppError::preflight(message).with_advice(ControlAdvice::FollowWorkerAsText).into());
    }
    let skipped = if json { 0 } else { past.len().saturating_sub(PAST_LINES_SHOWN) };
    if !json {
        out::print_note(&format!("{} · ralph work in the background", worker.id()));
    }
    if skipped > 0 {
        out::print_note(&format!("{skipped} earlier lines not shown; they are in {}", worker.log_path().display()));
    }
    print_lines(&past.split_off(skipped), json);
    loop {
        // Read before the log, so that the last lines are shown.
        let status = worker.status();
        print_lines(&worker.read_new_lines()?, json);
        match status {
            WorkerStatus::Working(_) => {}
            WorkerStatus::Ended { exit_code } => return Ok(exit_code),
            WorkerStatus::Died => {
                out::print_note(&format!("{} died; `ralph work` resumes its tasks", worker.id()));
                return Ok(exit_code::NOT_COMPLETE);
            }
        }
        if !out::has_reader() {
            return Ok(0);
        }
        tokio::time::sleep(LOG_POLL_INTERVAL).await;
    }
}

fn print_lines(lines: &[String], json: bool) {
    for line in lines {
        if json { out::print_line(line) } else { out::print_note(line) }
    }
}
