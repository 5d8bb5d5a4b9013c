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
        /// When it shall start.
        #[serde(default)]
        until: Millis,
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
    /// A signal ended the run. It can be taken up again where it was left.
    Interrupted {
        left: Left,
        ended: Ended,
    },
    Finished {
        iterations: u32,
        ended: Ended,
    },
}

/// Where a run that was cut short goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "left", rename_all = "snake_case")]
pub enum Left {
    /// With the first iteration.
    AtTheStart,
    /// With the agent: this attempt was cut short, and the next one does its work again.
    AtWork { iteration: Iteration, attempt: u32 },
    /// With the pause before this attempt.
    Waiting { iteration: Iteration, attempt: u32, until: Millis },
    /// With the checks of what this attempt claimed.
    Verifying { iteration: Iteration, attempt: u32 },
}

/// The iteration in progress. All its attempts share the prompt and the nonce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iteration {
    /// From 1.
    pub number: u32,
    pub started: Millis,
    pub plan: PromptPlan,
    pub nonce: Option<Nonce>,
    /// Attempts that were cut short. They are no failures: no retry is spent on them.
    #[serde(default)]
    pub cut_short: u32,
    /// How often the checks of its claim were begun.
    #[serde(default)]
    pub rounds: u32,
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
            Phase::Finished { ended, .. } | Phase::Interrupted { ended, .. } => Some(ended),
            Phase::Ready
            | Phase::Working { .. }
            | Phase::Waiting { .. }
            | Phase::Verifying { .. }
            | Phase::Stopping { .. } => None,
        }
    }

    /// Tells whether there is something left to do, should this loop be taken up again.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        match &self.phase {
            Phase::Finished { .. } => false,
            Phase::Ready
            | Phase::Working { .. }
            | Phase::Waiting { .. }
            | Phase::Verifying { .. }
            | Phase::Stopping { .. }
            | Phase::Interrupted { .. } => true,
        }
    }
}

impl Phase {
    /// Tells whether the agent has been asked to stop in such a way that the next signal kills it.
    #[must_use]
    pub fn next_signal_kills(&self) -> bool {
        let Self::Stopping { stopping, .. } = self else { return false };
        match stopping {
            Stopping::Agent { why: StopWhy::Signal { .. } | StopWhy::Broken { .. } } => true,
            Stopping::Agent {
                why: StopWhy::IterationTooLong | StopWhy::TooSilent | StopWhy::StayedAfterResult,
            }
            | Stopping::Checks { .. } => false,
        }
    }
}

impl Left {
    /// Returns the iteration that was cut short, if one was.
    #[must_use]
    pub fn iteration(&self) -> Option<&Iteration> {
        match self {
            Self::AtTheStart => None,
            Self::AtWork { iteration, .. }
            | Self::Waiting { iteration, .. }
            | Self::Verifying { iteration, .. } => Some(iteration),
        }
    }
}

impl Iteration {
    #[must_use]
    pub fn key(&self, attempt: u32) -> AttemptKey {
        AttemptKey { iteration: self.number, attempt }
    }

    /// Returns how many attempts have failed when this one has.
    #[must_use]
    pub fn failures(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.cut_short)
    }
}
