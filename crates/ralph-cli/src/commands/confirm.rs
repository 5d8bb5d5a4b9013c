//! Asking a person. Anything but yes is no.
use std::io::{self, BufRead, IsTerminal};

use super::out;
use crate::error::CommandError;

/// Returns whether a person can answer.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Fails unless the person approves what was shown.
pub fn require_confirmation(what: &str) -> Result<(), CommandError> {
    let refused = |words: &str| CommandError::preflight_error(format!("{what}: {words}"));
    if !is_interactive() {
        return Err(refused("this is not a terminal, so ralph cannot ask")
            .with_hint("review the commands above; then add --yes"));
    }
    match ask_yes_no("May these be started? [y/N] ") {
        true => Ok(()),
        false => Err(refused("you did not say yes")),
    }
}

/// Asks, and waits for the answer.
pub fn ask_yes_no(question: &str) -> bool {
    out::print_question(question);
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}
