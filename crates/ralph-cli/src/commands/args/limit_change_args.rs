//! Flags that change the limits of a run that exists: new totals, or additions with a plus sign.
use clap::Args;
use ralph_core::limit_change::{LimitChange, LimitChanges};

use crate::commands::args::value_parsers::{parse_duration, parse_iterations, parse_money, parse_token_limit};
use ralph_util::amounts::DollarAmount;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitChangeArgs {
    /// New iteration limit: 20, or +5 for five more
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_iteration_change)]
    max_iterations: Option<LimitChange>,
    /// New spending limit in US dollars: 10, or +2.50
    #[arg(long, value_name = "USD", allow_hyphen_values = true, value_parser = parse_cost_change)]
    max_cost: Option<LimitChange>,
    /// New token limit: 2M, or +500k
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_token_change)]
    max_tokens: Option<LimitChange>,
    /// New total time limit: 20h, or +2h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration_change)]
    max_duration: Option<LimitChange>,
}

impl LimitChangeArgs {
    pub fn changes(&self) -> LimitChanges {
        LimitChanges {
            max_iterations: self.max_iterations,
            max_cost_micros: self.max_cost,
            max_tokens: self.max_tokens,
            max_duration_ms: self.max_duration,
        }
    }
}

fn parse_iteration_change(text: &str) -> Result<LimitChange, String> {
    parse_change(text, |value| parse_iterations(value).map(u64::from))
}

fn parse_cost_change(text: &str) -> Result<LimitChange, String> {
    parse_change(text, |value| parse_money(value).map(DollarAmount::as_micros))
}

fn parse_token_change(text: &str) -> Result<LimitChange, String> {
    parse_change(text, parse_token_limit)
}

fn parse_duration_change(text: &str) -> Result<LimitChange, String> {
    parse_change(text, |value| {
        parse_duration(value).map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    })
}

fn parse_change<E: ToString>(text: &str, parse: impl Fn(&str) -> Result<u64, E>) -> Result<LimitChange, String> {
    match text.strip_prefix('+') {
        // A second sign would be accepted as part of a number.
        Some(more) if more.starts_with(['+', '-']) => Err(format!("{more:?} is not a value to add")),
        Some(more) => parse(more).map(LimitChange::Added).map_err(|error| error.to_string()),
        None => parse(text).map(LimitChange::Total).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L19
    #[test]
    fn a_plus_sign_adds_and_a_bare_value_is_a_total() {
        assert_eq!(parse_iteration_change("20"), Ok(LimitChange::Total(20)));
        assert_eq!(parse_iteration_change("+5"), Ok(LimitChange::Added(5)));
        assert_eq!(parse_cost_change("+2.50"), Ok(LimitChange::Added(2_500_000)));
        assert_eq!(parse_token_change("+500k"), Ok(LimitChange::Added(500_000)));
        assert_eq!(parse_duration_change("2h"), Ok(LimitChange::Total(7_200_000)));
        for wrong in ["", "+", "-1", "++5", "+-5", "0", "+0"] {
            assert!(parse_iteration_change(wrong).is_err(), "{wrong}");
        }
    }
}
