//! Changes of the limits of a run: new totals, or additions to the present ones.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::dollars;
use crate::budget::format_dollars;
use crate::policy::Policy;
use crate::text::format_duration_ms;

/// The change of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitChange {
    /// The new total.
    Total(u64),
    /// An addition to the present total.
    Added(u64),
}

/// The requested changes of the limits of a run; `None` keeps a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitChanges {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<LimitChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_micros: Option<LimitChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<LimitChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_ms: Option<LimitChange>,
}

/// The limits that have changed, with their new totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedLimits {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Millionths of a dollar; written as dollars.
    #[serde(default, rename = "max_cost_usd", with = "dollars", skip_serializing_if = "Option::is_none")]
    pub max_cost_micros: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_ms: Option<u64>,
}

/// An addition to a limit that the run does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the run has no limit {limit}, so nothing can be added to it")]
pub struct NoLimitToRaise {
    pub limit: &'static str,
}

impl LimitChanges {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the new totals of the limits that differ from those of the policy.
    pub fn resolve(&self, policy: &Policy) -> Result<ChangedLimits, NoLimitToRaise> {
        let budget = &policy.budget;
        let iterations = Some(u64::from(policy.max_iterations));
        let iterations = new_total(self.max_iterations, iterations, "max_iterations")?;
        Ok(ChangedLimits {
            max_iterations: iterations.map(|number| u32::try_from(number).unwrap_or(u32::MAX).max(1)),
            max_cost_micros: new_total(self.max_cost_micros, budget.max_cost_micros, "max_cost_usd")?,
            max_tokens: new_total(self.max_tokens, budget.max_tokens, "max_tokens")?,
            max_duration_ms: new_total(self.max_duration_ms, budget.max_duration_ms, "max_duration")?,
        })
    }
}

/// Returns the new total of a limit, or `None` if it stays as it is.
fn new_total(
    change: Option<LimitChange>,
    present: Option<u64>,
    limit: &'static str,
) -> Result<Option<u64>, NoLimitToRaise> {
    let total = match (change, present) {
        (None, _) => return Ok(None),
        (Some(LimitChange::Total(total)), _) => total,
        (Some(LimitChange::Added(more)), Some(present)) => present.saturating_add(more),
        (Some(LimitChange::Added(_)), None) => return Err(NoLimitToRaise { limit }),
    };
    Ok(Some(total).filter(|total| present != Some(*total)))
}

impl ChangedLimits {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn apply_to(&self, policy: &mut Policy) {
        policy.max_iterations = self.max_iterations.unwrap_or(policy.max_iterations);
        let budget = &mut policy.budget;
        budget.max_cost_micros = self.max_cost_micros.or(budget.max_cost_micros);
        budget.max_tokens = self.max_tokens.or(budget.max_tokens);
        budget.max_duration_ms = self.max_duration_ms.or(budget.max_duration_ms);
    }

    /// Returns the new limits as a list, such as `20 iterations, $10.00`.
    #[must_use]
    pub fn describe(&self) -> String {
        let parts: Vec<String> = [
            self.max_iterations.map(|number| format!("{number} {}", plural(u64::from(number), "iteration"))),
            self.max_cost_micros.map(format_dollars),
            self.max_tokens.map(|number| format!("{number} {}", plural(number, "token"))),
            self.max_duration_ms.map(format_duration_ms),
        ]
        .into_iter()
        .flatten()
        .collect();
        parts.join(", ")
    }
}

fn plural(count: u64, word: &str) -> String {
    if count == 1 { word.into() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;

    fn policy() -> Policy {
        let budget = Budget { max_cost_micros: Some(5_000_000), ..Budget::default() };
        Policy { budget, ..Policy::new(3) }
    }

    // spec: L19
    #[test]
    fn a_value_is_a_new_total_and_a_plus_adds_to_the_present_one() {
        let changes = LimitChanges {
            max_iterations: Some(LimitChange::Total(20)),
            max_cost_micros: Some(LimitChange::Added(5_000_000)),
            ..LimitChanges::default()
        };
        let changed = changes.resolve(&policy()).unwrap();
        assert_eq!(changed.describe(), "20 iterations, $10.00");
        let mut after = policy();
        changed.apply_to(&mut after);
        let budget = Budget { max_cost_micros: Some(10_000_000), ..Budget::default() };
        assert_eq!(after, Policy { max_iterations: 20, budget, ..policy() });
    }

    // spec: L19
    #[test]
    fn nothing_can_be_added_to_a_limit_that_the_run_does_not_have() {
        let tokens = |change| LimitChanges { max_tokens: Some(change), ..LimitChanges::default() };
        let refused = tokens(LimitChange::Added(5)).resolve(&policy()).unwrap_err();
        assert_eq!(refused, NoLimitToRaise { limit: "max_tokens" });
        assert_eq!(tokens(LimitChange::Total(5)).resolve(&policy()).unwrap().max_tokens, Some(5));
    }

    // spec: L19
    #[test]
    fn a_limit_that_stays_the_same_is_not_a_change() {
        let changes = LimitChanges { max_iterations: Some(LimitChange::Total(3)), ..LimitChanges::default() };
        assert!(!changes.is_empty());
        assert!(changes.resolve(&policy()).unwrap().is_empty());
    }
}
