//! The loop of one session as it is kept between its events.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::handle_event::DecisionMoment;
use crate::claim::ClaimRules;
use crate::criterion::Criterion;
use crate::event::{Event, EventKind, PlanAvailability, UnixMillis};
use crate::loop_state::{LoopPhase, LoopState};
use crate::policy::{BaselineMode, ContextMode, Policy, ProofRequirement};
use crate::prompt::{CompletionInstructions, PromptInput, PromptPlan, render_prompt};
use crate::seal::{Seal, SealingResult};
use crate::step::step;

/// How soon after a loop has begun the same beginning is the same one.
const DUPLICATE_START_WINDOW_MS: u64 = 10_000;

/// How long after its time a session may still come back to its loop.
const ABANDONED_AFTER_MS: u64 = 24 * 3_600_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLoop {
    /// What the user wants done, as it was written.
    pub prompt: String,
    pub rules: ClaimRules,
    pub criteria: Vec<Criterion>,
    /// What must not change before a claim, where there are checks.
    pub seal: Option<Seal>,
    pub machine: LoopState,
    /// Errors of the session are its own business until then.
    pub recovering_until: Option<UnixMillis>,
    /// How often it was continued in a row, as far as its program counts that.
    pub blocks: u32,
    /// How often in a row its program lets it be continued, as it told last.
    pub cap: Option<u32>,
    /// Whether its program counts on whatever the agent does.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub lasting: bool,
    /// How often in a row its checks were not through.
    pub unfinished: u32,
    /// Names the stop that was answered last.
    pub last_stop: Option<String>,
    pub started: UnixMillis,
    pub last_iteration: Option<UnixMillis>,
}

/// What a loop is begun with.
#[derive(Debug, Clone)]
pub struct SessionLoopPlan {
    pub prompt: String,
    pub rules: ClaimRules,
    pub criteria: Vec<Criterion>,
    pub policy: Policy,
    /// What must not change, where there are checks.
    pub sealing: Option<SealingResult>,
}

/// Begins a loop. What must be proven but cannot be sealed is over at once, and says why.
#[must_use]
pub fn start_session_loop(plan: SessionLoopPlan, moment: &DecisionMoment) -> SessionLoop {
    let SessionLoopPlan { prompt, rules, criteria, policy, sealing } = plan;
    let proof = if criteria.is_empty() { ProofRequirement::ClaimAlone } else { ProofRequirement::Checks };
    let policy = Policy { proof, baseline: BaselineMode::Skip, context: ContextMode::Continue, ..policy };
    let (mut machine, _) = step(LoopState::new(policy), build_event(moment, EventKind::Started));
    let mut seal = None;
    if let LoopPhase::Preparing { .. } = machine.phase {
        let sealing = sealing.unwrap_or(SealingResult::Impossible { why: "nothing was sealed".into() });
        if let SealingResult::Done { seal: done } = &sealing {
            seal = Some(done.clone());
        }
        let prepared = EventKind::Prepared { sealing, baseline: Vec::new() };
        machine = step(machine, build_event(moment, prepared)).0;
    }
    SessionLoop {
        prompt,
        rules,
        criteria,
        seal,
        machine,
        recovering_until: None,
        blocks: 0,
        cap: None,
        lasting: false,
        unfinished: 0,
        last_stop: None,
        started: moment.at,
        last_iteration: None,
    }
}

pub(super) fn build_event(moment: &DecisionMoment, kind: EventKind) -> Event {
    Event {
        at: moment.at,
        wall_clock: moment.at,
        random: moment.random,
        plan_availability: PlanAvailability::Available,
        used_by_others: Vec::new(),
        kind,
    }
}

impl SessionLoop {
    /// Tells whether the session is to go on.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.machine.can_resume()
    }

    /// Tells whether another loop that begins is this one, heard of again: where two hooks of ours are installed, both are told
    /// of one prompt.
    #[must_use]
    pub fn is_duplicated_by(&self, other: &Self) -> bool {
        let is_untouched = self.is_active() && self.last_stop.is_none() && self.last_iteration.is_none();
        let asked = |of: &Self| (of.prompt.clone(), of.rules.clone(), of.criteria.clone(), of.seal.clone());
        is_untouched
            && other.started.elapsed_since(self.started) <= DUPLICATE_START_WINDOW_MS
            && asked(self) == asked(other)
            && self.machine.policy == other.machine.policy
    }

    /// Tells whether its session has kept silent until long after its time was over. Who is still there hears of the end of
    /// his loop himself.
    #[must_use]
    pub fn is_abandoned(&self, at: UnixMillis) -> bool {
        let most = self.machine.policy.budget.max_duration_ms;
        self.is_active()
            && most.is_some_and(|most| at.elapsed_since(self.started) > most.saturating_add(ABANDONED_AFTER_MS))
    }

    /// Returns the iteration that is going on, or the last one.
    #[must_use]
    pub fn current_iteration(&self) -> u32 {
        match &self.machine.phase {
            LoopPhase::Working { iteration, .. }
            | LoopPhase::Waiting { iteration, .. }
            | LoopPhase::Limited { iteration, .. }
            | LoopPhase::Verifying { iteration, .. }
            | LoopPhase::Stopping { iteration, .. } => iteration.number,
            LoopPhase::Paused { left } | LoopPhase::Interrupted { left, .. } => left.iterations_begun(),
            LoopPhase::Finished { iterations, .. } => *iterations,
            LoopPhase::Ready | LoopPhase::Preparing { .. } | LoopPhase::PreparingStopped { .. } => 0,
        }
    }

    #[must_use]
    pub fn max_iterations(&self) -> u32 {
        self.machine.policy.max_iterations
    }

    /// Returns what the session must be told to begin: the task, and how its end is claimed and checked.
    #[must_use]
    pub fn first_prompt(&self) -> String {
        self.render_plan(&PromptPlan::first_iteration())
    }

    /// Returns the prompt that a plan describes.
    pub(super) fn render_plan(&self, plan: &PromptPlan) -> String {
        let checks: Vec<String> = self.criteria.iter().map(Criterion::summary_line).collect();
        let nonce = match &self.machine.phase {
            LoopPhase::Working { iteration, .. } => iteration.nonce.as_ref(),
            LoopPhase::Ready
            | LoopPhase::Preparing { .. }
            | LoopPhase::PreparingStopped { .. }
            | LoopPhase::Waiting { .. }
            | LoopPhase::Limited { .. }
            | LoopPhase::Verifying { .. }
            | LoopPhase::Stopping { .. }
            | LoopPhase::Paused { .. }
            | LoopPhase::Interrupted { .. }
            | LoopPhase::Finished { .. } => None,
        };
        render_prompt(
            plan,
            &PromptInput {
                task: &self.prompt,
                promise: &self.rules.promise,
                nonce,
                checks: &checks,
                iteration: self.current_iteration(),
                max_iterations: self.max_iterations(),
                completion: CompletionInstructions::Appended,
                notes: None,
                guidance: &[],
            },
        )
    }
}
