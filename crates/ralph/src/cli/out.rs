//! Writing to the two streams. A reader that went away is no error of ours.
use std::io::{self, Write};

use crate::error::Failure;

/// Prints data.
pub fn data(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
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
