//! Parsers for the values of flags: what is refused says what would be right.
use std::time::Duration;

use ralph_agents::Format;
use ralph_util::duration::{self, DurationError};
use ralph_util::memory_size::{MemorySize, MemorySizeError};
use ralph_util::money::{AmountError, Money, parse_tokens};

/// More than this is a typing mistake.
const MOST: u32 = 1_000_000;

pub fn iterations(text: &str) -> Result<u32, String> {
    whole(text, 1)
        .map_err(|refused| refused.say("a loop needs at least 1 iteration", "iterations are allowed"))
}

pub fn retries(text: &str) -> Result<u32, String> {
    whole(text, 0).map_err(|refused| refused.say("0 means none", "retries are allowed"))
}

pub fn still(text: &str) -> Result<u32, String> {
    whole(text, 0).map_err(|refused| refused.say("0 means any number", "iterations are allowed"))
}

/// A number of runs to show.
pub fn shown_runs(text: &str) -> Result<u32, String> {
    whole(text, 1).map_err(|refused| refused.say("a list needs at least 1 run", "runs are listed"))
}

/// A number of groups to show.
pub fn shown_groups(text: &str) -> Result<u32, String> {
    whole(text, 1).map_err(|refused| refused.say("a table needs at least 1 group", "groups are shown"))
}

/// A number of runs to spare.
pub fn spared_runs(text: &str) -> Result<u32, String> {
    whole(text, 0).map_err(|refused| refused.say("0 spares none", "runs can be spared"))
}

/// Why a number is none of those that are asked for.
enum NoNumber {
    NotWhole,
    TooSmall,
    TooLarge,
}

impl NoNumber {
    fn say(&self, least: &str, most: &str) -> String {
        match self {
            Self::NotWhole => "it must be a whole number".to_owned(),
            Self::TooSmall => least.to_owned(),
            Self::TooLarge => format!("at most {MOST} {most}"),
        }
    }
}

fn whole(text: &str, least: u32) -> Result<u32, NoNumber> {
    match text.parse::<i128>() {
        Err(_) => Err(NoNumber::NotWhole),
        Ok(number) if number < i128::from(least) => Err(NoNumber::TooSmall),
        Ok(number) => u32::try_from(number).ok().filter(|number| *number <= MOST).ok_or(NoNumber::TooLarge),
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

pub fn money(text: &str) -> Result<Money, AmountError> {
    Money::parse(text)
}

pub fn tokens(text: &str) -> Result<u64, AmountError> {
    parse_tokens(text)
}

pub fn format(text: &str) -> Result<Format, String> {
    text.parse::<Format>().map_err(|error| format!("{error}; {}", error.hint()))
}
