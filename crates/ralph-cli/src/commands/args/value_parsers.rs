//! Parsers for the values of flags. Each error says what is valid.
use std::time::Duration;

use ralph_agents::OutputFormat;
use ralph_util::amounts::{AmountError, DollarAmount, parse_tokens};
use ralph_util::duration::{self, DurationError};
use ralph_util::memory_size::{MemorySize, MemorySizeError};

/// The largest accepted count; more is probably a typing error.
const MAX_COUNT: u32 = 1_000_000;

pub fn parse_iterations(text: &str) -> Result<u32, String> {
    parse_whole_number(text, 1)
        .map_err(|refused| refused.to_message("a loop needs at least 1 iteration", "iterations are allowed"))
}

pub fn parse_retries(text: &str) -> Result<u32, String> {
    parse_whole_number(text, 0).map_err(|refused| refused.to_message("0 means none", "retries are allowed"))
}

pub fn parse_stall_limit(text: &str) -> Result<u32, String> {
    parse_whole_number(text, 0).map_err(|refused| refused.to_message("0 means no limit", "iterations are allowed"))
}

/// Parses a number of runs to list.
pub fn parse_run_limit(text: &str) -> Result<u32, String> {
    parse_whole_number(text, 1).map_err(|refused| refused.to_message("a list needs at least 1 run", "runs are listed"))
}

/// Parses a number of groups to show.
pub fn parse_group_limit(text: &str) -> Result<u32, String> {
    parse_whole_number(text, 1)
        .map_err(|refused| refused.to_message("a table needs at least 1 group", "groups are shown"))
}

/// Parses a number of runs to keep.
pub fn parse_kept_runs(text: &str) -> Result<u32, String> {
    parse_whole_number(text, 0).map_err(|refused| refused.to_message("0 keeps none", "runs can be kept"))
}

/// Why a number was refused.
enum WholeNumberError {
    NotWhole,
    TooSmall,
    TooLarge,
}

impl WholeNumberError {
    fn to_message(&self, minimum_message: &str, unit: &str) -> String {
        match self {
            Self::NotWhole => "it must be a whole number".to_owned(),
            Self::TooSmall => minimum_message.to_owned(),
            Self::TooLarge => format!("at most {MAX_COUNT} {unit}"),
        }
    }
}

fn parse_whole_number(text: &str, minimum: u32) -> Result<u32, WholeNumberError> {
    match text.parse::<i128>() {
        Err(_) => Err(WholeNumberError::NotWhole),
        Ok(number) if number < i128::from(minimum) => Err(WholeNumberError::TooSmall),
        Ok(number) => {
            u32::try_from(number).ok().filter(|number| *number <= MAX_COUNT).ok_or(WholeNumberError::TooLarge)
        }
    }
}

pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    duration::parse(text)
}

pub fn parse_memory_size(text: &str) -> Result<MemorySize, MemorySizeError> {
    MemorySize::parse(text)
}

pub fn parse_log_size(text: &str) -> Result<MemorySize, String> {
    MemorySize::parse(text)
        .map_err(|_| format!("{text:?} is not a log size: write 100M or 1G (a number without unit is in MB)"))
}

pub fn parse_money(text: &str) -> Result<DollarAmount, AmountError> {
    DollarAmount::parse(text)
}

pub fn parse_token_limit(text: &str) -> Result<u64, AmountError> {
    parse_tokens(text)
}

pub fn parse_format(text: &str) -> Result<OutputFormat, String> {
    text.parse::<OutputFormat>().map_err(|error| format!("{error}; {}", error.hint()))
}
