//! Writing to the two streams, without secrets. A reader that went away is no error of ours.
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::termios::tcgetattr;

use crate::error::Failure;
use crate::report::fitted;
use ralph_util::redact;

/// Whether the reader of standard output went away.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Whether something could not be printed although somebody wanted it.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints data. A reader that went away wanted no more; any other failure is remembered.
pub fn data(text: &str) {
    print(&redact::text(text));
}

/// Prints an answer for people: on a terminal, its lines fit.
pub fn answer(text: &str) {
    print(&fitted(&redact::text(text), &io::stdout()));
}

/// Prints one line of an answer for people.
pub fn say(text: &str) {
    answer(&format!("{text}\n"));
}

fn print(clean: &str) {
    let _ = Watched.write_all(clean.as_bytes()).and_then(|()| Watched.flush());
}

/// Standard output for somebody who cannot tell of its failures himself: they are remembered.
pub struct Watched;

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes).inspect_err(remember)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().inspect_err(remember)
    }
}

fn remember(error: &io::Error) {
    if error.kind() != io::ErrorKind::Interrupted {
        let told = if is_nobody_there(error) { &LEFT } else { &LOST };
        told.store(true, Ordering::Relaxed);
    }
}

/// Tells whether anybody may still read what is printed.
pub fn is_read() -> bool {
    !LEFT.load(Ordering::Relaxed)
}

/// Tells a reader that went away, or a terminal that was closed, from a disk that is full.
fn is_nobody_there(error: &io::Error) -> bool {
    // A file has no settings of a terminal; a closed terminal cannot tell them any more.
    let closed_terminal = || tcgetattr(io::stdout()).err() == Some(Errno::IO);
    error.kind() == io::ErrorKind::BrokenPipe || closed_terminal()
}

/// Tells whether data was lost on its way out.
pub fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Prints one line of data.
pub fn line(text: &str) {
    data(&format!("{text}\n"));
}

/// Prints a note for people: on a terminal, its lines fit.
pub fn note(text: &str) {
    let clean = redact::text(text);
    warn(&format!("{}\n", fitted(&clean, &io::stderr())));
}

/// Prints a question and leaves the answer on the same line.
pub fn ask(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Prints an error in its one shape.
pub fn failure(failure: &Failure) {
    let mut text = format!("error: {}\n", failure.message);
    for cause in &failure.causes {
        text.push_str(&format!("caused by: {cause}\n"));
    }
    for hint in &failure.hints {
        text.push_str(&format!("hint: {hint}\n"));
    }
    warn(&fitted(&redact::text(&text), &io::stderr()));
}

/// Prints text as it is to standard error. Where nobody reads, nothing can be said.
pub fn complain(text: &str) {
    warn(&redact::text(text));
}

fn warn(clean: &str) {
    let _ = io::stderr().lock().write_all(clean.as_bytes());
}
