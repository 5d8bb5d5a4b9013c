//! Runs the script of a target: the message is on its standard input, as JSON, and no shell is involved.
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ralph_process::{BoundedOutcome, find_program, run_bounded};

use super::channel::SendError;
use super::message::clean_text;
use super::outbox::temporary;

/// A pipe holds at least so much before its reader starts.
const MAX_INPUT_BYTES: usize = 60 * 1024;

/// Runs a program with the message as input. Relative paths are relative to `folder`.
pub(super) async fn run_script(
    folder: &Path,
    command: &[String],
    input: String,
    timeout: Duration,
) -> Result<(), SendError> {
    let (folder, command) = (folder.to_path_buf(), command.to_vec());
    let ran = tokio::task::spawn_blocking(move || run_program(&folder, &command, input.as_bytes(), timeout)).await;
    ran.unwrap_or_else(|error| Err(temporary(error.to_string())))
}

/// Runs a program within a time limit. After that it is killed with its group.
pub(super) fn run_program(folder: &Path, command: &[String], input: &[u8], timeout: Duration) -> Result<(), SendError> {
    let Some((program, arguments)) = command.split_first() else { return Err(temporary("the command is empty")) };
    let path = find_program(folder, program).map_err(|error| temporary(error.to_string()))?;
    let stdin = fill_pipe(input).map_err(|error| temporary(format!("cannot pass the message: {error}")))?;
    let mut program_command = Command::new(path);
    program_command.args(arguments).current_dir(folder);
    match run_bounded(&mut program_command, stdin, timeout) {
        Ok(BoundedOutcome::Exited { status, .. }) if status.success() => Ok(()),
        Ok(BoundedOutcome::Exited { status, stderr, .. }) => {
            let stderr = String::from_utf8_lossy(&stderr);
            let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
            let last: String = clean_text(last).chars().take(200).collect();
            Err(temporary(if last.is_empty() { status.to_string() } else { format!("{status}: {last}") }))
        }
        Ok(BoundedOutcome::TimedOut) => Err(temporary("it did not end in time and was killed")),
        Ok(BoundedOutcome::Cancelled) => Err(temporary("it was stopped")),
        Err(error) => Err(temporary(format!("it cannot be started: {error}"))),
    }
}

fn fill_pipe(input: &[u8]) -> std::io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    if input.len() > MAX_INPUT_BYTES {
        return Err(std::io::Error::other("the message is too long"));
    }
    let (reader, mut writer) = std::io::pipe()?;
    writer.write_all(input)?;
    Ok(reader.into())
}
