//! Prints to stdout and stderr. Ignores write errors, so that a closed pipe is not a failure.
use std::io::{self, Write};

/// Prints a line to stdout.
pub(crate) fn print_line(text: &str) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints the beginning of a line that [`print_line`] will end.
pub(crate) fn print_line_start(text: &str) {
    let mut out = io::stdout().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}

/// Prints a line to stderr.
pub(crate) fn print_error(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
