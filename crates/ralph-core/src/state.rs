//! The loop as it is stored after every step. A phase carries exactly what is true in it.
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::attempt::Spend;
use crate::claim::Nonce;
use crate::event::{AttemptKey, Millis, StopSignal};
use crate::outcome::Ended;
use crate::policy::Policy;
use crate::prompt::PromptPlan;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    pub policy: Policy,
    /// Verdicts in a row that could not be evaluated.
    pub blind_verdicts: u32,
    /// What all attempts together used.
    pub spent: Spend,
    pub phase: Phase,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Nothing has been started yet.
    Ready,
    /// The agent is alive.
    Working {
        iteration: Iteration,
        attempt: u32,
    },
    /// The pause before `attempt` starts.
    Waiting {
        iteration: Iteration,
        attempt: u32,
    },
    /// The agent claimed; the checks are running.
    Verifying {
        iteration: Iteration,
        attempt: u32,
    },
    /// The agent or the checks were asked to stop.
    Stopping {
        iteration: Iteration,
        attempt: u32,
        stopping: Stopping,
    },
    Finished {
        iterations: u32,
        ended: Ended,
    },
}

/// The iteration in progress. All its attempts share the prompt and the nonce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iteration {
    /// From 1.
    pub number: u32,
    pub started: Millis,
    pub plan: PromptPlan,
    pub nonce: Option<Nonce>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Stopping {
    Agent { why: StopWhy },
    Checks { signal: StopSignal },
}

/// Why an agent is being stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum StopWhy {
    IterationTooLong,
    TooSilent,
    /// It had finished and only would not leave.
    StayedAfterResult,
    Signal {
        signal: StopSignal,
    },
    Broken {
        what: String,
    },
}

impl Loop {
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self { policy, blind_verdicts: 0, spent: Spend::default(), phase: Phase::Ready }
    }

    /// Returns the end of the run, once there is one.
    #[must_use]
    pub fn ended(&self) -> Option<&Ended> {
        match &self.phase {
            Phase::Finished { ended, .. } => Some(ended),
            Phase::Ready
            | Phase::Working { .. }
            | Phase::Waiting { .. }
            | Phase::Verifying { .. }
            | Phase::Stopping { .. } => None,
        }
    }
}

impl Iteration {
    #[must_use]
    pub fn key(&self, attempt: u32) -> AttemptKey {
        AttemptKey { iteration: self.number, attempt }
    }
}
