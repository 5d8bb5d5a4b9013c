//! Yes/no questions to the user. Every answer except y and yes means no.
use std::io::{self, BufRead, IsTerminal};

use crate::commands::out;
use crate::error::CommandError;

/// Returns whether a user can answer.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Fails unless the user approves the commands that were shown. The error starts with `subject`.
pub fn require_confirmation(subject: &str) -> Result<(), CommandError> {
    let refused = |reason: &str| CommandError::preflight_error(format!("{subject}: {reason}"));
    if !is_interactive() {
        return Err(refused("this is not a terminal, so ralph cannot ask")
            .with_hint("review the commands above; then add --yes"));
    }
    match ask_yes_no("Approve these commands? [y/N] ") {
        true => Ok(()),
        false => Err(refused("you did not answer yes")),
    }
}

/// Asks a question, and returns whether the answer is yes.
pub fn ask_yes_no(question: &str) -> bool {
    out::print_question(question);
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}
