//! Parses a promise that the user wrote, as a flag or in the configuration.
use ralph_core::claim::Promise;
use ralph_core::outcome::exit_code;

use crate::error::CommandError;

/// Parses a promise, which must not contain the tag. `example` is the flag with a valid value, for the hints.
pub fn parse_promise(text: &str, example: &str) -> Result<Promise, CommandError> {
    if text.contains(['<', '>']) {
        return Err(CommandError::usage_error("the promise contains `<` or `>`, which belong to the tag around it")
            .with_hint(format!("give only the text inside the tag, such as {example}")));
    }
    Promise::parse(text).map_err(|error| {
        CommandError::from_error(exit_code::USAGE_ERROR, &error)
            .with_hint(format!("choose text that the agent would not print by chance, such as {example}"))
    })
}
