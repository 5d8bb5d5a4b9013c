//! Writing to the two streams. A reader that went away is no error of ours.
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Failure;

/// Whether something could not be printed although somebody wanted it.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints data. A reader that went away wanted no more; any other failure is remembered.
pub fn data(text: &str) {
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if printed.is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        LOST.store(true, Ordering::Relaxed);
    }
}

/// Tells whether data was lost on its way out.
pub fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Prints one line of data.
pub fn line(text: &str) {
    data(&format!("{text}\n"));
}

/// Prints a note for people.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
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
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
