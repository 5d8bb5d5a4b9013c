//! How a run ended, and its exit code.
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::event::StopSignal;
use crate::policy::ExhaustionPolicy;
use crate::text::format_duration_ms;

/// The beginning of the reason of a run whose agent says that it is blocked; its words follow.
pub const AGENT_BLOCKED_PREFIX: &str = "the agent is blocked: ";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Claimed and verified.
    Completed,
    /// The iteration limit was reached.
    Exhausted,
    /// The agent failed more often than it may be retried.
    Failed,
    /// Too many consecutive iterations changed nothing.
    Stalled,
    OverBudget,
    /// The agent or a check that cannot be evaluated needs a human.
    Blocked,
    Cancelled,
    /// Stopped by a signal; can be resumed.
    Interrupted,
}

impl Outcome {
    pub const ALL: [Self; 8] = [
        Self::Completed,
        Self::Exhausted,
        Self::Failed,
        Self::Stalled,
        Self::OverBudget,
        Self::Blocked,
        Self::Cancelled,
        Self::Interrupted,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Exhausted => "exhausted",
            Self::Failed => "failed",
            Self::Stalled => "stalled",
            Self::OverBudget => "over_budget",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }
}

/// Exit codes. Scripts rely on them, so they must not change.
pub mod exit_code {
    pub const COMPLETED: u8 = 0;
    /// A preflight check failed, or the configuration is invalid.
    pub const PREFLIGHT_FAILED: u8 = 1;
    /// `build` without an implementation plan.
    pub const NO_PLAN: u8 = 2;
    pub const NOT_COMPLETE: u8 = 3;
    pub const AGENT_FAILED: u8 = 4;
    /// A git command that ralph ran failed.
    pub const GIT_FAILED: u8 = 5;
    pub const BLOCKED: u8 = 6;
    pub const OVER_BUDGET: u8 = 7;
    pub const STALLED: u8 = 8;
    pub const CANCELLED: u8 = 9;
    /// The state or the work tree is unusable or locked.
    pub const STATE_UNUSABLE: u8 = 10;
    pub const USAGE_ERROR: u8 = 64;
    pub const INTERNAL_ERROR: u8 = 70;
    pub const SIGINT: u8 = 130;
    pub const SIGTERM: u8 = 143;
}

/// The reason of a run without its implementation plan.
pub const NO_PLAN_MESSAGE: &str = "Implementation plan not found. Run 'ralph plan' first.";

/// Prefix of the reason of a stage that sends work back.
const SENT_BACK_PREFIX: &str = "the work is sent back: ";

/// The end of a run: outcome, reason and exit code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    pub outcome: Outcome,
    pub reason: String,
    pub exit_code: u8,
}

/// The cause that ended a cancelled run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelCause {
    /// `ralph cancel` or `ralph loop cancel`.
    Command,
    SessionAborted,
    SessionDeleted,
}

impl RunEnd {
    #[must_use]
    pub fn new(outcome: Outcome, reason: String) -> Self {
        let exit_code = match outcome {
            Outcome::Completed => exit_code::COMPLETED,
            Outcome::Exhausted => exit_code::NOT_COMPLETE,
            Outcome::Failed => exit_code::AGENT_FAILED,
            Outcome::Stalled => exit_code::STALLED,
            Outcome::OverBudget => exit_code::OVER_BUDGET,
            Outcome::Blocked => exit_code::BLOCKED,
            Outcome::Cancelled => exit_code::CANCELLED,
            Outcome::Interrupted => exit_code::SIGINT,
        };
        Self { outcome, reason, exit_code }
    }

    /// Returns the end of a run that reached its iteration limit.
    #[must_use]
    pub fn iterations_exhausted(reason: String, when: ExhaustionPolicy) -> Self {
        let run_end = Self::new(Outcome::Exhausted, reason);
        match when {
            ExhaustionPolicy::NotComplete => run_end,
            ExhaustionPolicy::Fine => Self { exit_code: exit_code::COMPLETED, ..run_end },
        }
    }

    /// Returns the end of a run whose caller decides after every iteration how it continues.
    #[must_use]
    pub fn awaiting_next_iteration() -> Self {
        Self {
            outcome: Outcome::Interrupted,
            reason: "the iteration has ended, and the workflow decides how the loop continues".into(),
            exit_code: exit_code::NOT_COMPLETE,
        }
    }

    /// Returns the end of a run whose implementation plan is missing.
    #[must_use]
    pub fn plan_missing() -> Self {
        Self { outcome: Outcome::Failed, reason: NO_PLAN_MESSAGE.into(), exit_code: exit_code::NO_PLAN }
    }

    /// Returns the end of a run whose work tree or state is unusable.
    #[must_use]
    pub fn state_unusable(reason: String) -> Self {
        Self { outcome: Outcome::Failed, reason, exit_code: exit_code::STATE_UNUSABLE }
    }

    /// Returns the end of a run that requires proof, if its checks cannot give it. No agent was started.
    #[must_use]
    pub fn proof_impossible(why: &str) -> Self {
        let reason = alloc::format!("no claim could be proven, but proof is required: {why}");
        Self { outcome: Outcome::Blocked, reason, exit_code: exit_code::PREFLIGHT_FAILED }
    }

    /// Returns the end of a run after an internal error of ralph.
    #[must_use]
    pub fn internal_fault(fault: &str) -> Self {
        let reason = alloc::format!("internal error in ralph: {fault}");
        Self { outcome: Outcome::Failed, reason, exit_code: exit_code::INTERNAL_ERROR }
    }

    /// Returns the end of a stage whose role rejected the work of an earlier stage. It needs no human, so the exit code
    /// is the one for incomplete work.
    #[must_use]
    pub fn work_sent_back(reason: &str) -> Self {
        let reason = alloc::format!("{SENT_BACK_PREFIX}{reason}");
        Self { outcome: Outcome::Blocked, reason, exit_code: exit_code::NOT_COMPLETE }
    }

    /// Adds what the agent was not allowed to do, which may be the real reason of an end without success.
    #[must_use]
    pub fn with_denied_actions(self, denied: &[String]) -> Self {
        let names_denials = match self.outcome {
            Outcome::Exhausted | Outcome::Failed | Outcome::Stalled | Outcome::OverBudget => true,
            // The reason of a role that sends work back belongs to that role.
            Outcome::Blocked => !self.is_work_sent_back(),
            Outcome::Completed | Outcome::Cancelled | Outcome::Interrupted => false,
        };
        let Some((first, others)) = denied.split_first().filter(|_| names_denials) else { return self };
        let mut reason = alloc::format!("{}; the agent was not allowed to use {first}", self.reason);
        match others.len() {
            0 => {}
            1 => reason.push_str(" and 1 other"),
            count => reason.push_str(&alloc::format!(" and {count} others")),
        }
        Self { reason, ..self }
    }

    /// Returns whether the work was sent back.
    #[must_use]
    pub fn is_work_sent_back(&self) -> bool {
        self.outcome == Outcome::Blocked && self.exit_code == exit_code::NOT_COMPLETE
    }

    /// Returns why the work was sent back, if it was.
    #[must_use]
    pub fn sent_back_reason(&self) -> Option<&str> {
        let reason = self.reason.strip_prefix(SENT_BACK_PREFIX).unwrap_or(&self.reason);
        self.is_work_sent_back().then_some(reason)
    }

    /// Returns the end of a run that `ralph cancel` ended.
    #[must_use]
    pub fn cancelled_by_user() -> Self {
        Self::cancelled(CancelCause::Command)
    }

    #[must_use]
    pub fn cancelled(cause: CancelCause) -> Self {
        let reason = match cause {
            CancelCause::Command => "cancelled by ralph cancel",
            CancelCause::SessionAborted => "the user aborted the session",
            CancelCause::SessionDeleted => "the session was deleted",
        };
        Self::new(Outcome::Cancelled, reason.into())
    }

    /// Returns the end of a blocked run whose claim a person rejected, or whose question a person answered. It can be
    /// resumed.
    #[must_use]
    pub fn reopened_by_person(reason: String) -> Self {
        Self { outcome: Outcome::Interrupted, reason, exit_code: exit_code::BLOCKED }
    }

    /// Returns the end of a run that is parked during a wait. It can be resumed.
    #[must_use]
    pub fn parked(wait_ms: u64, asked_because: Option<&str>) -> Self {
        let why = asked_because.unwrap_or("rate limited");
        let reason = alloc::format!("parked for {}: {why}", format_duration_ms(wait_ms));
        Self { outcome: Outcome::Interrupted, reason, exit_code: exit_code::NOT_COMPLETE }
    }

    /// Returns whether the run is parked.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.outcome == Outcome::Interrupted && self.exit_code == exit_code::NOT_COMPLETE
    }

    #[must_use]
    pub fn interrupted_by_signal(signal: StopSignal) -> Self {
        let (name, exit_code) = match signal {
            StopSignal::Int => ("Ctrl-C", exit_code::SIGINT),
            StopSignal::Term => ("SIGTERM", exit_code::SIGTERM),
            StopSignal::Hangup => ("a closed terminal (SIGHUP)", exit_code::SIGTERM),
        };
        Self { outcome: Outcome::Interrupted, reason: alloc::format!("stopped by {name}"), exit_code }
    }
}
