//! The policy of one run: its limits and modes. A person can change its limits later ([`crate::limit_change`]).
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::budget::{Budget, BudgetUsage, BudgetView, ScopedBudget};
use crate::criterion::Criterion;
use crate::event::LoopTimer;
use crate::role_duty::RoleDuty;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// At least 1.
    pub max_iterations: u32,
    /// How often a failed attempt is retried within its iteration.
    pub max_retries: u32,
    pub timeouts: AttemptTimeouts,
    pub proof: ClaimVerification,
    /// The proof level below which a claim does not complete the run.
    #[serde(default)]
    pub required_proof: MinimumProof,
    /// The consequence of a contradiction in the message of a claim.
    #[serde(default)]
    pub contradictions: ContradictionRule,
    #[serde(default)]
    pub baseline: BaselineMode,
    pub context: ContextMode,
    pub nonce: NonceUse,
    #[serde(default)]
    pub when_exhausted: ExhaustionPolicy,
    #[serde(default)]
    pub rate_limits: RateLimitPolicy,
    #[serde(default)]
    pub judging: RejectTagUse,
    #[serde(default)]
    pub budget: Budget,
    /// Budgets shared with other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<ScopedBudget>,
    /// The number of consecutive iterations without a change that ends the run; 0 disables the limit.
    #[serde(default)]
    pub stall_after: u32,
    /// The duty of the role, in addition to its criteria.
    #[serde(default)]
    pub duty: RoleDuty,
    /// Whether the run continues by itself after an iteration that did not complete it.
    #[serde(default, skip_serializing_if = "IterationStepping::is_continuous")]
    pub stepping: IterationStepping,
    /// Claims of earlier runs of the same task that were rejected because of changed protected tests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub protected_rejections: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// The next step after an iteration that did not complete the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationStepping {
    /// The next iteration starts.
    #[default]
    Continuous,
    /// The run is interrupted before the next iteration. Its caller resumes it, or closes it.
    OneByOne,
}

impl IterationStepping {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_continuous(&self) -> bool {
        *self == Self::Continuous
    }
}

/// Whether a `<reject>` tag has an effect. It has in stages that review the work of another stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectTagUse {
    /// `<reject>` is ignored.
    #[default]
    No,
    /// `<reject>` ends the run and sends the work back.
    Yes,
}

/// How a run handles the rate limits of providers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimitPolicy {
    /// The maximum of all waits together, in milliseconds.
    pub max_wait_ms: u64,
    /// The maximum of all waits that agents ask for together, in milliseconds.
    #[serde(default = "default_agent_wait_ms")]
    pub max_agent_wait_ms: u64,
    /// The names of the agents: the preferred one, then the fallbacks.
    #[serde(default)]
    pub agents: Vec<String>,
    #[serde(default)]
    pub parking: ParkingPolicy,
}

/// When a wait ends the process that drives the run. The run is resumed after the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkingPolicy {
    /// Whether the driver can resume the run later. A run in a terminal keeps waiting.
    pub is_possible: bool,
    /// A longer wait parks the run, in milliseconds.
    pub after_ms: u64,
    /// The maximum of all waits for rate limits together, if the run is parked meanwhile, in milliseconds.
    pub max_wait_ms: u64,
}

impl Default for ParkingPolicy {
    fn default() -> Self {
        Self { is_possible: false, after_ms: 15 * 60_000, max_wait_ms: 7 * 86_400_000 }
    }
}

impl RateLimitPolicy {
    /// Returns whether a wait of this length parks the run.
    #[must_use]
    pub fn parks(&self, wait_ms: u64) -> bool {
        self.parking.is_possible && wait_ms > self.parking.after_ms
    }
}

fn default_agent_wait_ms() -> u64 {
    24 * 3_600_000
}

impl Default for RateLimitPolicy {
    fn default() -> Self {
        Self {
            max_wait_ms: 6 * 3_600_000,
            max_agent_wait_ms: default_agent_wait_ms(),
            agents: Vec::new(),
            parking: ParkingPolicy::default(),
        }
    }
}

/// Timeouts of an attempt, in milliseconds. None can be disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptTimeouts {
    pub iteration_ms: u64,
    pub silence_ms: u64,
    pub after_result_ms: u64,
    /// How long an agent may do nothing but retry failed requests.
    #[serde(default = "default_repeating_ms")]
    pub repeating_ms: u64,
    /// How long an agent may take to open a session, if ralph talks to it over a protocol.
    #[serde(default = "default_handshake_ms")]
    pub handshake_ms: u64,
}

fn default_repeating_ms() -> u64 {
    AttemptTimeouts::default().repeating_ms
}

fn default_handshake_ms() -> u64 {
    AttemptTimeouts::default().handshake_ms
}

impl AttemptTimeouts {
    /// Returns for how long a timer that has expired runs again. Silence counts from the last output. An agent that has
    /// reported no repeated request for half of the limit may be working on a long answer.
    #[must_use]
    pub fn timer_extension(&self, timer: LoopTimer, quiet_ms: Option<u64>) -> Option<u64> {
        let quiet_ms = quiet_ms?;
        match timer {
            LoopTimer::Silence { .. } => self.silence_ms.checked_sub(quiet_ms).filter(|left| *left > 0),
            LoopTimer::Repeating { .. } => Some(self.repeating_ms / 2).filter(|half| quiet_ms > *half),
            LoopTimer::Iteration { .. }
            | LoopTimer::AfterResult { .. }
            | LoopTimer::Handshake { .. }
            | LoopTimer::Login { .. }
            | LoopTimer::Run
            | LoopTimer::Retry { .. }
            | LoopTimer::Limit { .. } => None,
        }
    }
}

impl Default for AttemptTimeouts {
    fn default() -> Self {
        Self {
            iteration_ms: 60 * 60_000,
            silence_ms: 10 * 60_000,
            after_result_ms: 30_000,
            repeating_ms: 5 * 60_000,
            handshake_ms: 2 * 60_000,
        }
    }
}

/// How a claim is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerification {
    /// Nothing is verified: the claim completes the run, and the output says so.
    ClaimAlone,
    /// The checks decide.
    Checks,
}

impl ClaimVerification {
    /// Returns how the claims of a run are verified. Guarded files are compared even without a check.
    #[must_use]
    pub fn for_run(criteria: &[Criterion], guard: &[String]) -> Self {
        if criteria.is_empty() && guard.is_empty() { Self::ClaimAlone } else { Self::Checks }
    }
}

/// The proof level that a completion needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MinimumProof {
    /// Every accepted claim completes the run.
    #[default]
    Any,
    /// Only a claim of the level `proven` does.
    Proven,
}

/// The consequence if the message that claims completion also says that work is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContradictionRule {
    /// The claim is rejected: nothing but the words of the agent would decide.
    #[default]
    Reject,
    /// The claim is verified, and the contradiction is a warning.
    Warn,
}

impl ContradictionRule {
    /// Returns the rule for a run with these criteria: a contradiction only warns if a check can decide.
    #[must_use]
    pub fn for_criteria(criteria: &[Criterion]) -> Self {
        if criteria.iter().any(Criterion::can_decide) { Self::Warn } else { Self::Reject }
    }
}

/// Whether the external checks run once before the first iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineMode {
    #[default]
    Run,
    Skip,
}

/// Whether iterations share the agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextMode {
    /// Each iteration starts a fresh session with the whole prompt.
    Fresh,
    /// Each iteration resumes the session of the one before.
    Continue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonceUse {
    Off,
    EachIteration,
}

/// The exit code of a run that reaches its iteration limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExhaustionPolicy {
    /// The code for incomplete work.
    #[default]
    NotComplete,
    /// 0: the user asked for a number of iterations, not for completion.
    Fine,
}

impl Policy {
    /// Returns all budgets of the run, with the usage of other runs.
    #[must_use]
    pub fn budget_view<'a>(&'a self, used_by_others: &'a [BudgetUsage]) -> BudgetView<'a> {
        BudgetView { own_budget: &self.budget, shared_budgets: &self.shared, used_by_others }
    }

    #[must_use]
    pub fn new(max_iterations: u32) -> Self {
        Self {
            max_iterations: max_iterations.max(1),
            max_retries: 3,
            timeouts: AttemptTimeouts::default(),
            proof: ClaimVerification::ClaimAlone,
            required_proof: MinimumProof::Any,
            contradictions: ContradictionRule::Reject,
            baseline: BaselineMode::Run,
            context: ContextMode::Fresh,
            nonce: NonceUse::Off,
            when_exhausted: ExhaustionPolicy::NotComplete,
            rate_limits: RateLimitPolicy::default(),
            judging: RejectTagUse::No,
            budget: Budget::default(),
            shared: Vec::new(),
            stall_after: 0,
            duty: RoleDuty::None,
            stepping: IterationStepping::Continuous,
            protected_rejections: 0,
        }
    }
}
