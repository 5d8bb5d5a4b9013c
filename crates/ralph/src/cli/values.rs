//! Parsers for the values of flags: what is refused says what would be right.
use std::time::Duration;

use crate::agent::Format;
use crate::duration::{self, DurationError};
use crate::memory_size::{MemorySize, MemorySizeError};

/// More iterations than this are a typing mistake.
const MOST_ITERATIONS: u32 = 1_000_000;

pub fn iterations(text: &str) -> Result<u32, String> {
    match text.parse::<i128>() {
        Err(_) => Err("it must be a whole number".to_owned()),
        Ok(number) if number < 1 => Err("a loop needs at least 1 iteration".to_owned()),
        Ok(number) => u32::try_from(number)
            .ok()
            .filter(|number| *number <= MOST_ITERATIONS)
            .ok_or_else(|| format!("at most {MOST_ITERATIONS} iterations are allowed")),
    }
}

pub fn time(text: &str) -> Result<Duration, DurationError> {
    duration::parse(text)
}

pub fn memory(text: &str) -> Result<MemorySize, MemorySizeError> {
    MemorySize::parse(text)
}

pub fn log_size(text: &str) -> Result<MemorySize, String> {
    MemorySize::parse(text)
        .map_err(|_| format!("{text:?} is no size for logs: write 100M or 1G (a bare number is MB)"))
}

pub fn format(text: &str) -> Result<Format, String> {
    text.parse::<Format>().map_err(|error| format!("{error}; {}", error.hint()))
}
