//! Writing to the two streams, without secrets. A reader that went away is no error of ours.
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::termios::tcgetattr;

use crate::error::CommandError;
use crate::report::wrap_for_terminal;
use ralph_util::redact;

/// Whether the reader of standard output went away.
static READER_GONE: AtomicBool = AtomicBool::new(false);

/// Whether something could not be printed although somebody wanted it.
static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

/// Prints data. A reader that went away wanted no more; any other failure is remembered.
pub fn print_data(text: &str) {
    write_stdout(&redact::redact_text(text));
}

/// Prints an answer for people: on a terminal, its lines fit.
pub fn print_wrapped(text: &str) {
    write_stdout(&wrap_for_terminal(&redact::redact_text(text), &io::stdout()));
}

/// Prints one line of an answer for people.
pub fn print_message(text: &str) {
    print_wrapped(&format!("{text}\n"));
}

fn write_stdout(clean: &str) {
    let _ = TrackedStdout.write_all(clean.as_bytes()).and_then(|()| TrackedStdout.flush());
}

/// Standard output for somebody who cannot tell of its failures himself: they are remembered.
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
        let told = if is_reader_gone(error) { &READER_GONE } else { &OUTPUT_LOST };
        told.store(true, Ordering::Relaxed);
    }
}

/// Tells whether anybody may still read what is printed.
pub fn has_reader() -> bool {
    !READER_GONE.load(Ordering::Relaxed)
}

/// Tells a reader that went away, or a terminal that was closed, from a disk that is full.
fn is_reader_gone(error: &io::Error) -> bool {
    // A file has no settings of a terminal; a closed terminal cannot tell them any more.
    let closed_terminal = || tcgetattr(io::stdout()).err() == Some(Errno::IO);
    error.kind() == io::ErrorKind::BrokenPipe || closed_terminal()
}

/// Tells whether data was lost on its way out.
pub fn has_lost_output() -> bool {
    OUTPUT_LOST.load(Ordering::Relaxed)
}

/// Prints one line of data.
pub fn print_line(text: &str) {
    print_data(&format!("{text}\n"));
}

/// Prints a note for people: on a terminal, its lines fit.
pub fn print_note(text: &str) {
    let clean = redact::redact_text(text);
    write_stderr(&format!("{}\n", wrap_for_terminal(&clean, &io::stderr())));
}

/// Prints a question and leaves the answer on the same line.
pub fn print_question(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Prints an error in its one shape.
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

/// Prints text as it is to standard error. Where nobody reads, nothing can be said.
pub fn print_stderr(text: &str) {
    write_stderr(&redact::redact_text(text));
}

fn write_stderr(clean: &str) {
    let _ = io::stderr().lock().write_all(clean.as_bytes());
}
