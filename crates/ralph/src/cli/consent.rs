//! Asking a person. Anything but yes is no.
use std::io::{self, BufRead, IsTerminal};

use super::out;

/// Tells whether somebody sits there who could answer.
pub fn can_be_asked() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks, and waits for the answer.
pub fn is_given(question: &str) -> bool {
    out::ask(question);
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}
