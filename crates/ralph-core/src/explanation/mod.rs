//! Why something ended as it did, or what would end it: the deciding rule, its evidence and its numbers, and the rules that
//! did not decide. Explanations are made from the facts of the journal and the stored state; they decide nothing.
mod deciding_rule;
mod evidence_lines;
mod in_progress;
mod iteration;
mod iteration_facts;
mod rule_numbers;
mod run_end;
mod task;
#[cfg(test)]
mod tests;
mod workflow;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::budget::BudgetUsage;
use crate::event::UnixMillis;
use crate::fact::Fact;
use crate::loop_state::LoopState;

pub use deciding_rule::DecidingRule;
pub use in_progress::explain_open_run;
pub use iteration::explain_iteration;
pub use rule_numbers::{NumberUnit, RuleNumber, UnappliedRule};
pub use run_end::{deciding_rule_of_run, explain_dead_run, explain_ended_run};
pub use task::{TaskDependencyFacts, TaskFacts, explain_task};
pub use workflow::{WorkflowEndFacts, WorkflowNodeFacts, explain_workflow};

/// The answer to "why".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionExplanation {
    /// The first line of every view: `status: reason`.
    pub headline: String,
    pub rule: DecidingRule,
    pub evidence: Vec<EvidenceLine>,
    /// The counts and limits of the rule.
    pub numbers: Vec<RuleNumber>,
    /// The rules that did not decide, or that could still end what has not ended.
    pub not_applied: Vec<UnappliedRule>,
    /// When the wait ends that it is in.
    pub until: Option<UnixMillis>,
}

/// A line of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceLine {
    /// The number of the fact in the journal; `None` if it is not from the journal of a run.
    pub seq: Option<u32>,
    pub text: String,
}

/// Everything that is known of a run.
#[derive(Debug, Clone, Copy)]
pub struct RunRecord<'a> {
    /// The journal, from its first fact.
    pub facts: &'a [Fact],
    /// The stored state; `None` if another version wrote it.
    pub state: Option<&'a LoopState>,
    /// The usage of the other runs that share a budget, in the order of the shared budgets of the policy.
    pub used_by_others: &'a [BudgetUsage],
}

/// Returns the headline of anything with a status and a reason.
#[must_use]
pub fn headline(status: &str, reason: &str) -> String {
    match reason.trim() {
        "" => String::from(status),
        reason => format!("{status}: {reason}"),
    }
}

impl EvidenceLine {
    /// Returns evidence that is not from the journal of a run.
    #[must_use]
    pub fn without_fact(text: String) -> Self {
        Self { seq: None, text }
    }
}
