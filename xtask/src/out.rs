//! The one place of the workshop that prints. A reader that went away is no reason to fail.
use std::io::{self, Write};

/// Prints a line of results.
pub(crate) fn print_line(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints the beginning of a line that `line` will end.
pub(crate) fn print_line_start(text: &str) {
    let mut out = io::stdout().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// Prints a line for people, beside the results.
pub(crate) fn print_error(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
