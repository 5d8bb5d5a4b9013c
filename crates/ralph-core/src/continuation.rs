//! Which ended runs can be continued with other limits or with guidance.
use alloc::string::String;

use crate::budget::BudgetUsage;
use crate::limit_change::{ChangedLimits, LimitChanges, NoLimitToRaise};
use crate::loop_state::{LoopPhase, LoopState};
use crate::outcome::Outcome;
use crate::policy::Policy;

/// The changes with which a run that has ended is continued.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Continuation {
    pub limits: LimitChanges,
    /// Text for the next prompt.
    pub guidance: Option<String>,
}

/// Why a run cannot be continued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoContinuation {
    /// The run has not ended.
    StillOpen,
    /// The run ended in a way that neither limits nor guidance change.
    NotContinuable {
        outcome: Outcome,
    },
    /// A judging role sent the work back.
    SentBack {
        reason: String,
    },
    /// The run was blocked before its first iteration.
    NotStarted {
        reason: String,
    },
    NoLimitToRaise(NoLimitToRaise),
    /// The run would end again at once.
    StillLimited {
        reason: String,
    },
}

impl Continuation {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty() && self.guidance.is_none()
    }
}

impl LoopState {
    /// Returns the limits that change if the run is continued, or why it cannot be continued.
    pub fn check_continuation(&self, continuation: &Continuation) -> Result<ChangedLimits, NoContinuation> {
        let LoopPhase::Finished { iterations, ended } = &self.phase else { return Err(NoContinuation::StillOpen) };
        match ended.outcome {
            Outcome::Blocked if ended.is_work_sent_back() => {
                let reason = ended.sent_back_reason().unwrap_or_default().into();
                return Err(NoContinuation::SentBack { reason });
            }
            Outcome::Blocked if *iterations == 0 => {
                return Err(NoContinuation::NotStarted { reason: ended.reason.clone() });
            }
            Outcome::Exhausted | Outcome::OverBudget | Outcome::Stalled | Outcome::Blocked => {}
            Outcome::Completed | Outcome::Failed | Outcome::Cancelled | Outcome::Interrupted => {
                return Err(NoContinuation::NotContinuable { outcome: ended.outcome });
            }
        }
        let mut changed = continuation.limits.resolve(&self.policy).map_err(NoContinuation::NoLimitToRaise)?;
        // Except after the last iteration, a run that is continued has at least one more.
        let has_iteration_choice = ended.outcome == Outcome::Exhausted || continuation.limits.max_iterations.is_some();
        if !has_iteration_choice && self.policy.max_iterations <= *iterations {
            changed.max_iterations = Some(iterations.saturating_add(1));
        }
        let mut policy = self.policy.clone();
        changed.apply_to(&mut policy);
        match self.remaining_limit(&policy, *iterations) {
            Some(reason) => Err(NoContinuation::StillLimited { reason }),
            None => Ok(changed),
        }
    }

    /// Returns the limit of the run itself that it would reach at once with this policy.
    fn remaining_limit(&self, policy: &Policy, iterations: u32) -> Option<String> {
        if policy.max_iterations <= iterations {
            return Some(alloc::format!(
                "it has used {iterations} of {} iterations (max_iterations)",
                policy.max_iterations
            ));
        }
        let used = BudgetUsage {
            spent: self.spent,
            worked_ms: self.worked.total_ms(),
            unpriced: self.unpriced,
            ..BudgetUsage::default()
        };
        policy.budget.exhaustion_reason(used)
    }
}
