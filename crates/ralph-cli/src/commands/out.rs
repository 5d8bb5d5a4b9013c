//! Writes to stdout and stderr, with secrets redacted. A reader that closed the pipe is not an error.
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::termios::tcgetattr;

use crate::error::CommandError;
use crate::report::{protect_from_commands, wrap_for_terminal};
use ralph_app::view::{run_title, short_id};
use ralph_store::RunRow;
use ralph_util::redact;

/// Whether the reader of stdout closed it.
static READER_GONE: AtomicBool = AtomicBool::new(false);

/// Whether output was lost although its reader is still there, for example because a disk is full.
static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

/// Prints data to stdout. Write errors are recorded for [`has_reader`] and [`has_lost_output`].
pub fn print_data(text: &str) {
    write_stdout(&redact::redact_text(text));
}

/// Prints text for people to stdout, wrapped to the width of a terminal.
pub fn print_wrapped(text: &str) {
    write_stdout(&protect_from_commands(&wrap_for_terminal(&redact::redact_text(text), &io::stdout())));
}

/// Prints one line for people to stdout, wrapped to the width of a terminal.
pub fn print_message(text: &str) {
    print_wrapped(&format!("{text}\n"));
}

fn write_stdout(clean: &str) {
    let _ = TrackedStdout.write_all(clean.as_bytes()).and_then(|()| TrackedStdout.flush());
}

/// A writer to stdout that records write errors, for callers that ignore them.
pub struct TrackedStdout;

impl Write for TrackedStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes).inspect_err(record_write_error)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().inspect_err(record_write_error)
    }
}

fn record_write_error(error: &io::Error) {
    if error.kind() != io::ErrorKind::Interrupted {
        let flag = if is_reader_gone(error) { &READER_GONE } else { &OUTPUT_LOST };
        flag.store(true, Ordering::Relaxed);
    }
}

/// Returns whether stdout still has a reader.
pub fn has_reader() -> bool {
    !READER_GONE.load(Ordering::Relaxed)
}

/// Returns whether the reader closed its pipe or terminal; any other error, such as a full disk, loses output.
fn is_reader_gone(error: &io::Error) -> bool {
    // tcgetattr fails with EIO on a closed terminal, and with ENOTTY on a file.
    let closed_terminal = || tcgetattr(io::stdout()).err() == Some(Errno::IO);
    error.kind() == io::ErrorKind::BrokenPipe || closed_terminal()
}

/// Returns whether output was lost.
pub fn has_lost_output() -> bool {
    OUTPUT_LOST.load(Ordering::Relaxed)
}

/// Prints one line of data to stdout.
pub fn print_line(text: &str) {
    print_data(&format!("{text}\n"));
}

/// Prints a line that contains a secret for its reader, as it is.
pub fn print_secret_line(text: &str) {
    write_stdout(&format!("{text}\n"));
}

/// Prints a note for people to stderr, wrapped to the width of a terminal.
pub fn print_note(text: &str) {
    let clean = redact::redact_text(text);
    write_stderr(&format!("{}\n", wrap_for_terminal(&clean, &io::stderr())));
}

/// Prints a note like [`print_note`], for callers that count what is lost.
pub fn try_print_note(text: &str) -> io::Result<()> {
    let clean = redact::redact_text(text);
    let wrapped = format!("{}\n", wrap_for_terminal(&clean, &io::stderr()));
    io::stderr().lock().write_all(wrapped.as_bytes())
}

/// Notes on stderr which run was taken because none was named.
pub fn print_newest_run_note(run: &RunRow) {
    print_note(&format!("run {}, the newest: {}", short_id(&run.id), run_title(run)));
}

/// Prints a question to stderr without a line break, so that the answer is on the same line.
pub fn print_question(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Prints an error to stderr: `error`, `caused by` and `hint` lines.
pub fn print_command_error(failure: &CommandError) {
    let mut text = format!("error: {}\n", failure.message);
    for cause in &failure.causes {
        text.push_str(&format!("caused by: {cause}\n"));
    }
    for hint in &failure.hints {
        text.push_str(&format!("hint: {hint}\n"));
    }
    write_stderr(&wrap_for_terminal(&redact::redact_text(&text), &io::stderr()));
}

/// Writes a control sequence to the terminal at stderr, as it is.
pub fn write_terminal_sequence(sequence: &str) {
    write_stderr(sequence);
}

/// Prints text to stderr without wrapping. Write errors are ignored.
pub fn print_stderr(text: &str) {
    write_stderr(&redact::redact_text(text));
}

fn write_stderr(clean: &str) {
    let _ = io::stderr().lock().write_all(protect_from_commands(clean).as_bytes());
}
