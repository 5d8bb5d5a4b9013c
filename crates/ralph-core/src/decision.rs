//! Claims that wait for the decision of a person: a claim that the checks did not accept, in a run that ended as blocked.
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::event::PersonVerdict;
use crate::loop_state::{LoopPhase, LoopState};
use crate::outcome::Outcome;
use crate::receipt::{Proof, WorkTreeSnapshot};

/// The decision of a person on a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonDecision {
    /// The name of the user.
    pub user: String,
    /// When, in UTC.
    pub at: String,
    /// Why. A rejection always has a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// The claim that ended a run as blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingClaim {
    pub iteration: u32,
    /// Why the checks did not accept it.
    pub reason: String,
    /// The measured proof level, which the decision of a person does not change.
    #[serde(flatten)]
    pub proof: Proof,
    /// The claimed files; `None` if git could not read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<WorkTreeSnapshot>,
    /// The tree after the checks, which may have left files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree_after_checks: Option<String>,
}

/// Why no decision of a person is possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoDecision {
    /// The run has not ended.
    StillOpen,
    /// The run ended in another way.
    NotBlocked { outcome: Outcome },
    /// The agent needs an answer.
    Question { reason: String },
    /// The run was blocked before its first iteration.
    NotStarted { reason: String },
    /// A claim waits, not a question.
    ClaimWaits,
    /// A judging role sent the work back.
    SentBack { reason: String },
}

impl PersonDecision {
    /// Returns who decided, and why.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.because {
            Some(because) => format!("by {}: {because}", self.user),
            None => format!("by {}", self.user),
        }
    }
}

impl WaitingClaim {
    /// Returns whether a work tree with this tree hash has the files that were claimed.
    #[must_use]
    pub fn has_files_of(&self, tree: &str) -> bool {
        let claimed = self.snapshot.as_ref().map(|snapshot| snapshot.tree.as_str());
        claimed == Some(tree) || (claimed.is_some() && self.tree_after_checks.as_deref() == Some(tree))
    }
}

impl LoopState {
    /// Returns the claim on which a person can decide, or why there is none.
    pub fn claim_to_decide(&self) -> Result<&WaitingClaim, NoDecision> {
        let LoopPhase::Finished { ended, iterations } = &self.phase else { return Err(NoDecision::StillOpen) };
        match (ended.outcome, &self.waiting_claim) {
            (Outcome::Blocked, Some(claim)) => Ok(claim),
            (Outcome::Blocked, None) => Err(match ended.sent_back_reason() {
                Some(reason) => NoDecision::SentBack { reason: reason.into() },
                None if *iterations == 0 => NoDecision::NotStarted { reason: ended.reason.clone() },
                None => NoDecision::Question { reason: ended.reason.clone() },
            }),
            (outcome, _) => Err(NoDecision::NotBlocked { outcome }),
        }
    }

    /// Checks that a person can decide so.
    pub fn ensure_decidable(&self, verdict: PersonVerdict) -> Result<(), NoDecision> {
        match (verdict, self.claim_to_decide()) {
            (PersonVerdict::Accepted | PersonVerdict::Rejected, Ok(_))
            | (PersonVerdict::Answered, Err(NoDecision::Question { .. })) => Ok(()),
            (PersonVerdict::Answered, Ok(_)) => Err(NoDecision::ClaimWaits),
            (PersonVerdict::Accepted | PersonVerdict::Rejected | PersonVerdict::Answered, Err(why)) => Err(why),
        }
    }
}
