//! The loop as it is stored after every step. A phase carries exactly what is true in it.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptReport, Spend};
use crate::budget::Worked;
use crate::claim::Nonce;
use crate::event::{AttemptKey, Millis};
use crate::limits::{Limits, Wait};
use crate::order::{Halt, Wishes};
use crate::outcome::Ended;
use crate::policy::Policy;
use crate::prompt::PromptPlan;
use crate::stall::Stall;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    pub policy: Policy,
    /// Verdicts in a row that could not be evaluated.
    pub blind_verdicts: u32,
    /// What all attempts together used.
    pub spent: Spend,
    /// The agent's own session that the next iteration continues.
    #[serde(default)]
    pub session: Option<Session>,
    #[serde(default)]
    pub limits: Limits,
    /// How long it has been at work.
    #[serde(default)]
    pub worked: Worked,
    /// Finished attempts of which nobody knows the cost.
    #[serde(default)]
    pub unpriced: u32,
    #[serde(default)]
    pub stall: Stall,
    #[serde(default, skip_serializing_if = "Wishes::is_empty")]
    pub wishes: Wishes,
    pub phase: Phase,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// Nothing has been started yet.
    Ready,
    /// What must not change is being sealed, and the external checks run once.
    Preparing {
        round: u32,
    },
    /// Somebody asked for a stop while the run was being prepared.
    PreparingStopped {
        round: u32,
        #[serde(alias = "signal")]
        halt: Halt,
    },
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
    /// No agent may work before a rate limit is over; then `attempt` starts.
    Limited {
        iteration: Iteration,
        attempt: u32,
        wait: Wait,
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
    /// Somebody asked for a pause, and nobody is at work.
    Paused {
        left: Left,
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
    /// With the preparation.
    Preparing { round: u32 },
    /// With the next iteration.
    Between { number: u32, plan: PromptPlan },
    /// With the agent: this attempt was cut short, and the next one does its work again.
    AtWork { iteration: Iteration, attempt: u32 },
    /// With the pause before this attempt.
    Waiting { iteration: Iteration, attempt: u32, until: Millis },
    /// With the wait for a rate limit before this attempt.
    Limited { iteration: Iteration, attempt: u32, wait: Wait },
    /// With the checks of what this attempt claimed.
    Verifying { iteration: Iteration, attempt: u32 },
}

/// A session of an agent's own, which a later start can resume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub id: String,
    /// What it has used so far, where all of that is known: some agents count over a whole session.
    pub spent: Spend,
}

/// The iteration in progress. All its attempts share the nonce, and the prompt unless their session changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Iteration {
    /// From 1.
    pub number: u32,
    pub started: Millis,
    pub plan: PromptPlan,
    pub nonce: Option<Nonce>,
    /// The agent's own session that its attempts resume; without one they start afresh.
    #[serde(default)]
    pub session: Option<Session>,
    /// Attempts that are no failures, such as those that were cut short: no retry is spent on them.
    #[serde(default, rename = "cut_short")]
    pub excused: u32,
    /// How often the checks of its claim were begun.
    #[serde(default)]
    pub rounds: u32,
    /// What people said before its newest attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidance: Vec<String>,
    /// Whether it changed anything, as far as anybody knows.
    #[serde(default)]
    pub has_moved: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Stopping {
    Agent {
        why: StopWhy,
    },
    Checks {
        #[serde(alias = "signal")]
        halt: Halt,
    },
}

/// Why an agent is being stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum StopWhy {
    IterationTooLong,
    TooSilent,
    /// It had finished and only would not leave.
    StayedAfterResult,
    /// It only repeated requests that failed.
    OnlyRepeats,
    /// It was talked to, and opened no session.
    NoHandshake,
    /// Somebody asked for it.
    #[serde(alias = "signal")]
    Asked {
        #[serde(alias = "signal")]
        halt: Halt,
    },
    /// There is no money, no token or no time left.
    OverBudget {
        what: String,
    },
    Broken {
        what: String,
    },
}

impl Loop {
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            blind_verdicts: 0,
            spent: Spend::default(),
            session: None,
            limits: Limits::default(),
            worked: Worked::default(),
            unpriced: 0,
            stall: Stall::default(),
            wishes: Wishes::default(),
            phase: Phase::Ready,
        }
    }

    /// Returns the end of the run, once there is one.
    #[must_use]
    pub fn ended(&self) -> Option<&Ended> {
        match &self.phase {
            Phase::Finished { ended, .. } | Phase::Interrupted { ended, .. } => Some(ended),
            Phase::Ready
            | Phase::Preparing { .. }
            | Phase::PreparingStopped { .. }
            | Phase::Working { .. }
            | Phase::Waiting { .. }
            | Phase::Limited { .. }
            | Phase::Verifying { .. }
            | Phase::Paused { .. }
            | Phase::Stopping { .. } => None,
        }
    }

    /// Returns what people said that no prompt told, once none will.
    #[must_use]
    pub fn untold(&self) -> &[String] {
        if self.can_go_on() { &[] } else { &self.wishes.guidance }
    }

    /// Tells whether there is something left to do, should this loop be taken up again.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        match &self.phase {
            Phase::Finished { .. } => false,
            Phase::Ready
            | Phase::Preparing { .. }
            | Phase::PreparingStopped { .. }
            | Phase::Working { .. }
            | Phase::Waiting { .. }
            | Phase::Limited { .. }
            | Phase::Verifying { .. }
            | Phase::Stopping { .. }
            | Phase::Paused { .. }
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
            Stopping::Agent { why: StopWhy::Asked { halt } } => halt.ends_the_run(),
            Stopping::Agent { why: StopWhy::Broken { .. } } => true,
            Stopping::Agent {
                why:
                    StopWhy::IterationTooLong
                    | StopWhy::TooSilent
                    | StopWhy::StayedAfterResult
                    | StopWhy::OnlyRepeats
                    | StopWhy::NoHandshake
                    | StopWhy::OverBudget { .. },
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
            Self::AtTheStart | Self::Preparing { .. } | Self::Between { .. } => None,
            Self::AtWork { iteration, .. }
            | Self::Waiting { iteration, .. }
            | Self::Limited { iteration, .. }
            | Self::Verifying { iteration, .. } => Some(iteration),
        }
    }

    /// Returns the iteration and the attempt that come next.
    #[must_use]
    pub fn turn(&self) -> (u32, u32) {
        match self {
            Self::AtTheStart | Self::Preparing { .. } => (1, 1),
            Self::Between { number, .. } => (*number, 1),
            Self::AtWork { iteration, attempt } => (iteration.number, attempt + 1),
            Self::Waiting { iteration, attempt, .. }
            | Self::Limited { iteration, attempt, .. }
            | Self::Verifying { iteration, attempt } => (iteration.number, *attempt),
        }
    }

    /// Returns how many iterations have begun.
    #[must_use]
    pub fn iterations(&self) -> u32 {
        match self {
            Self::AtTheStart | Self::Preparing { .. } => 0,
            Self::Between { number, .. } => number.saturating_sub(1),
            Self::AtWork { iteration, .. }
            | Self::Waiting { iteration, .. }
            | Self::Limited { iteration, .. }
            | Self::Verifying { iteration, .. } => iteration.number,
        }
    }
}

impl Session {
    /// Returns the session after an attempt in it.
    #[must_use]
    pub fn used_by(self, report: &AttemptReport) -> Self {
        if report.session.as_ref().is_some_and(|other| *other != self.id) {
            return self;
        }
        Self { spent: self.spent.and(report.spend), ..self }
    }

    /// Returns the session after an attempt of which nobody knows what it used.
    #[must_use]
    pub fn used_unseen(self) -> Self {
        Self { spent: Spend::default(), ..self }
    }
}

impl Iteration {
    #[must_use]
    pub fn key(&self, attempt: u32) -> AttemptKey {
        AttemptKey { iteration: self.number, attempt }
    }

    /// Returns the iteration after an attempt. What nobody looked at may have changed something.
    #[must_use]
    pub fn moved_by(self, report: &AttemptReport) -> Self {
        Self { has_moved: self.has_moved || report.has_moved.unwrap_or(true), ..self }
    }

    /// Returns how many attempts have failed when this one has.
    #[must_use]
    pub fn failures(&self, attempt: u32) -> u32 {
        attempt.saturating_sub(self.excused)
    }
}
