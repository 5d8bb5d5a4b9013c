//! Limits in the body of an order: a number or a text is a new total; a text with a plus sign adds.
use std::fmt::Display;
use std::time::Duration;

use axum::http::StatusCode;
use ralph_core::limit_change::{LimitChange, LimitChanges};
use ralph_util::amounts::{DollarAmount, parse_tokens};
use ralph_util::duration;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::problem::Problem;

/// A number, or a text such as `"+5"`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum LimitValue {
    Number(f64),
    Text(String),
}

/// New limits. A number is a new total; a text with a plus sign, such as `"+5"`, adds to the present limit.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsOrder {
    pub max_iterations: Option<LimitValue>,
    pub max_cost_usd: Option<LimitValue>,
    pub max_tokens: Option<LimitValue>,
    /// In seconds, or a text with a unit such as `"2h"`.
    pub max_duration_s: Option<LimitValue>,
}

impl LimitsOrder {
    pub(super) fn parse(&self) -> Result<LimitChanges, Problem> {
        Ok(LimitChanges {
            max_iterations: change("max_iterations", self.max_iterations.as_ref(), parse_iterations)?,
            max_cost_micros: change("max_cost_usd", self.max_cost_usd.as_ref(), |text| {
                DollarAmount::parse(text).map(DollarAmount::as_micros)
            })?,
            max_tokens: change("max_tokens", self.max_tokens.as_ref(), parse_tokens)?,
            max_duration_ms: change("max_duration_s", self.max_duration_s.as_ref(), parse_milliseconds)?,
        })
    }

    /// Like [`Self::parse`]; fails if no limit is given.
    pub(super) fn parse_some(&self) -> Result<LimitChanges, Problem> {
        let changes = self.parse()?;
        if !changes.is_empty() {
            return Ok(changes);
        }
        Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no limit is given")
            .with_hint("give at least one of max_iterations, max_cost_usd, max_tokens and max_duration_s"))
    }
}

fn change<E: Display>(
    name: &str,
    value: Option<&LimitValue>,
    parse: impl Fn(&str) -> Result<u64, E>,
) -> Result<Option<LimitChange>, Problem> {
    let text = match value {
        None => return Ok(None),
        Some(LimitValue::Number(number)) => number.to_string(),
        Some(LimitValue::Text(text)) => text.clone(),
    };
    let parsed = match text.strip_prefix('+') {
        // A second sign would be accepted as part of a number.
        Some(more) if more.starts_with(['+', '-']) => Err(format!("{text:?} is not a value to add")),
        Some(more) => parse(more).map(LimitChange::Added).map_err(|error| error.to_string()),
        None => parse(&text).map(LimitChange::Total).map_err(|error| error.to_string()),
    };
    parsed.map(Some).map_err(|error| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, format!("{name}: {error}")))
}

fn parse_iterations(text: &str) -> Result<u64, String> {
    match text.parse::<u32>() {
        Ok(0) => Err("a loop needs at least 1 iteration".to_owned()),
        Ok(number) => Ok(number.into()),
        Err(_) => Err(format!("{text:?} is not a number of iterations")),
    }
}

/// A bare number is in seconds.
fn parse_milliseconds(text: &str) -> Result<u64, String> {
    let limit = match text.parse::<u64>() {
        Ok(0) => return Err("the limit must be at least 1 second".to_owned()),
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => duration::parse(text).map_err(|error| error.to_string())?,
    };
    Ok(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Result<LimitChanges, String> {
        let order: LimitsOrder = serde_json::from_str(body).unwrap();
        order.parse_some().map_err(|problem| problem.detail)
    }

    // spec: L19
    #[test]
    fn numbers_are_totals_and_a_plus_sign_adds() {
        let changes =
            parse(r#"{"max_iterations": 20, "max_cost_usd": "+2.50", "max_tokens": 1000, "max_duration_s": "2h"}"#);
        let changes = changes.unwrap();
        assert_eq!(changes.max_iterations, Some(LimitChange::Total(20)));
        assert_eq!(changes.max_cost_micros, Some(LimitChange::Added(2_500_000)));
        assert_eq!(changes.max_tokens, Some(LimitChange::Total(1000)));
        assert_eq!(changes.max_duration_ms, Some(LimitChange::Total(7_200_000)));
    }

    #[test]
    fn a_limit_that_is_not_one_is_named() {
        assert!(parse(r#"{"max_iterations": 0}"#).unwrap_err().starts_with("max_iterations: "));
        assert!(parse(r#"{"max_cost_usd": -1}"#).unwrap_err().starts_with("max_cost_usd: "));
        assert!(parse(r#"{"max_tokens": "++5"}"#).unwrap_err().starts_with("max_tokens: "));
        assert_eq!(parse("{}").unwrap_err(), "no limit is given");
    }
}
