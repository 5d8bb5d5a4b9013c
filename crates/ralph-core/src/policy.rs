//! The limits and habits of one run, fixed when it starts.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::budget::{Budget, BudgetUsage, BudgetView, ScopedBudget};
use crate::role_duty::RoleDuty;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// At least 1.
    pub max_iterations: u32,
    /// How often a failed attempt is tried again within its iteration.
    pub max_retries: u32,
    pub timeouts: AttemptTimeouts,
    pub proof: ProofRequirement,
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
    /// The budgets that it shares with other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<ScopedBudget>,
    /// So many iterations in a row that change nothing end the run; 0: it goes on.
    #[serde(default)]
    pub stall_after: u32,
    /// What is asked of the role at work beside its criteria.
    #[serde(default)]
    pub duty: RoleDuty,
}

/// Whether the agent looks at the work of another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectTagUse {
    /// `<reject>` says nothing here.
    #[default]
    No,
    /// `<reject>` ends the run and sends the work back.
    Yes,
}

/// What a run does about the limits of providers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimitPolicy {
    /// Milliseconds for which a run waits at most, all its waits together.
    pub max_wait_ms: u64,
    /// The names of the agents, the preferred one first. Where there is only one, none takes over.
    #[serde(default)]
    pub agents: Vec<String>,
}

impl Default for RateLimitPolicy {
    fn default() -> Self {
        Self { max_wait_ms: 6 * 3_600_000, agents: Vec::new() }
    }
}

/// Milliseconds; all are always on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptTimeouts {
    pub iteration_ms: u64,
    pub silence_ms: u64,
    pub after_result_ms: u64,
    /// How long an agent may only repeat requests that failed.
    #[serde(default = "default_repeating_ms")]
    pub repeating_ms: u64,
    /// How long an agent that is talked to may take to open a session.
    #[serde(default = "default_handshake_ms")]
    pub handshake_ms: u64,
}

fn default_repeating_ms() -> u64 {
    AttemptTimeouts::default().repeating_ms
}

fn default_handshake_ms() -> u64 {
    AttemptTimeouts::default().handshake_ms
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

/// What a claim must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofRequirement {
    /// Nothing is verified: the claim decides, and the output says so.
    ClaimAlone,
    /// The checks decide.
    Checks,
}

/// Whether the external checks run once before the first iteration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineMode {
    #[default]
    Run,
    Skip,
}

/// What the agent knows of earlier iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextMode {
    /// Each iteration starts from the whole prompt.
    Fresh,
    /// The agent's own session goes on.
    Continue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonceUse {
    Off,
    EachIteration,
}

/// What the exit code says of a run whose iterations are used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExhaustionPolicy {
    /// The work is not complete.
    #[default]
    NotComplete,
    /// All that was asked for was done: so many iterations.
    Fine,
}

impl Policy {
    /// Returns everything that limits the run, where others have used so much of the budgets that it shares.
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
            proof: ProofRequirement::ClaimAlone,
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
        }
    }
}
