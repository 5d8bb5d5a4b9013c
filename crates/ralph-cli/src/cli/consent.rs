//! Asking a person. Anything but yes is no.
use std::io::{self, BufRead, IsTerminal};

use super::out;
use crate::error::Failure;

/// Tells whether somebody sits there who could answer.
pub fn can_be_asked() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Lets go on only who says yes to what was shown.
pub fn required(what: &str) -> Result<(), Failure> {
    let refused = |words: &str| Failure::preflight(format!("{what}: {words}"));
    if !can_be_asked() {
        return Err(refused("there is nobody to ask").hint("look at the commands above; then add --yes"));
    }
    match is_given("May these be started? [y/N] ") {
        true => Ok(()),
        false => Err(refused("you did not say yes")),
    }
}

/// Asks, and waits for the answer.
pub fn is_given(question: &str) -> bool {
    out::ask(question);
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}
