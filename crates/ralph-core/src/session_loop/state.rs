//! The stored state of a session loop.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::handle_event::{DecisionMoment, split_effects};
use crate::baseline::{BaselineTrial, evaluated_trials};
use crate::claim::ClaimRules;
use crate::criterion::{Criterion, criterion_label, external_checks};
use crate::event::{Event, EventKind, LifecycleEvent, PlanAvailability, RunOpening, UnixMillis, WorkEvent};
use crate::fact::{Fact, IterationStatus};
use crate::loop_state::{LoopPhase, LoopState};
use crate::policy::{BaselineMode, ClaimVerification, ContextMode, ContradictionRule, Policy};
use crate::prompt::{CompletionInstructions, PromptInput, PromptPlan, render_prompt};
use crate::seal::{Seal, SealingResult};
use crate::step::step;

/// An identical start within this time is a duplicate of the first one.
const DUPLICATE_START_WINDOW_MS: u64 = 10_000;

/// How long after its time limit an idle loop counts as abandoned.
const ABANDONED_AFTER_MS: u64 = 24 * 3_600_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLoop {
    /// The task, as the user wrote it.
    pub prompt: String,
    pub rules: ClaimRules,
    pub criteria: Vec<Criterion>,
    /// The files that must not change. `None` for a loop whose claims are not verified.
    pub seal: Option<Seal>,
    pub machine: LoopState,
    /// Until then, the session may recover from an error by itself.
    pub recovering_until: Option<UnixMillis>,
    /// How often it was continued in a row, as the host counts it.
    pub blocks: u32,
    /// The limit of the host for continuations in a row, as last reported.
    pub cap: Option<u32>,
    /// Whether only a message of the user resets the host's count.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub lasting: bool,
    /// How often in a row its checks did not finish in time.
    pub unfinished: u32,
    /// The id of the stop that was handled last.
    pub last_stop: Option<String>,
    pub started: UnixMillis,
    pub last_iteration: Option<UnixMillis>,
}

/// The kind of the runs that record loops inside sessions.
pub const SESSION_RUN_KIND: &str = "session";

/// The input of a new loop.
#[derive(Debug, Clone)]
pub struct SessionLoopPlan {
    /// The name of the host, as the run is shown.
    pub agent: String,
    pub prompt: String,
    pub rules: ClaimRules,
    pub criteria: Vec<Criterion>,
    pub policy: Policy,
    /// The result of sealing. `None` for a loop whose claims are not verified.
    pub sealing: Option<SealingResult>,
    /// The results of the checks before the work.
    pub baseline: Vec<BaselineTrial>,
}

/// A loop that was started, and the first facts of its journal.
#[derive(Debug, Clone)]
pub struct StartedSessionLoop {
    pub state: SessionLoop,
    pub facts: Vec<Fact>,
}

/// Starts a loop. If its claims are verified but it could not be sealed, it ends at once with the reason. A check that could
/// not be evaluated before the work does not prevent the start: it has no baseline then.
#[must_use]
pub fn start_session_loop(plan: SessionLoopPlan, moment: &DecisionMoment) -> StartedSessionLoop {
    let SessionLoopPlan { agent, prompt, rules, criteria, policy, sealing, baseline } = plan;
    let contradictions = ContradictionRule::for_criteria(&criteria);
    let policy = Policy { contradictions, context: ContextMode::Continue, ..policy };
    let opening = build_opening(agent, &rules, &criteria);
    let started = LifecycleEvent::Started { opening, orders: Vec::new() };
    let (mut machine, effects) = step(LoopState::new(policy), build_event(moment, EventKind::Lifecycle(started)));
    let mut facts = split_effects(effects).facts;
    let mut seal = None;
    if let LoopPhase::Preparing { .. } = machine.phase {
        let sealing = sealing.unwrap_or(SealingResult::Impossible { why: "nothing was sealed".into() });
        if let SealingResult::Done { seal: done } = &sealing {
            seal = Some((**done).clone());
        }
        let baseline = evaluated_trials(baseline);
        let prepared = EventKind::Work(WorkEvent::Prepared { sealing, baseline });
        let (prepared, effects) = step(machine, build_event(moment, prepared));
        machine = prepared;
        facts.extend(split_effects(effects).facts);
    }
    let state = SessionLoop {
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
    };
    StartedSessionLoop { state, facts }
}

fn build_opening(agent: String, rules: &ClaimRules, criteria: &[Criterion]) -> RunOpening {
    RunOpening {
        kind: SESSION_RUN_KIND.into(),
        agent,
        promise: rules.promise.as_str().into(),
        permissions: None,
        checks: criteria.iter().map(Criterion::summary_line).collect(),
    }
}

pub(super) fn build_event(moment: &DecisionMoment, kind: EventKind) -> Event {
    Event {
        at: moment.at,
        wall_clock: moment.at,
        random: moment.random,
        plan_availability: PlanAvailability::Available,
        used_by_others: Vec::new(),
        standing_guidance: Vec::new(),
        kind,
    }
}

impl SessionLoop {
    /// Returns whether the loop is still running.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.machine.can_resume()
    }

    /// Returns whether its claims are verified.
    #[must_use]
    pub fn has_verification(&self) -> bool {
        self.machine.policy.proof == ClaimVerification::Checks
    }

    /// Returns the checks that should have run before the work but could not be evaluated. They cannot prove the work.
    #[must_use]
    pub fn checks_without_baseline(&self) -> Vec<String> {
        match self.machine.policy.baseline {
            BaselineMode::Skip => Vec::new(),
            BaselineMode::Run => external_checks(&self.criteria)
                .into_iter()
                .map(|found| criterion_label(found.name, &found.check.command.to_string()))
                .filter(|check| !self.machine.baseline.iter().any(|result| result.display_name() == *check))
                .collect(),
        }
    }

    /// Returns whether another loop is a duplicate of this one. If two ralph hooks are installed, both receive the same
    /// prompt.
    #[must_use]
    pub fn is_duplicated_by(&self, other: &Self) -> bool {
        let is_untouched = self.is_active() && self.last_stop.is_none() && self.last_iteration.is_none();
        let sealed = |of: &Self| of.seal.as_ref().map(|seal| seal.digest.clone());
        let request = |of: &Self| (of.prompt.clone(), of.rules.clone(), of.criteria.clone(), sealed(of));
        is_untouched
            && other.started.elapsed_since(self.started) <= DUPLICATE_START_WINDOW_MS
            && request(self) == request(other)
            && self.machine.policy == other.machine.policy
    }

    /// Returns whether its session has not reported anything until long after the time limit. A session that still
    /// reports ends its loop itself.
    #[must_use]
    pub fn is_abandoned(&self, at: UnixMillis) -> bool {
        let limit = self.machine.policy.budget.max_duration_ms;
        self.is_active()
            && limit.is_some_and(|limit| at.elapsed_since(self.started) > limit.saturating_add(ABANDONED_AFTER_MS))
    }

    /// Returns the number of the current or last iteration.
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

    /// Returns the first facts of the journal of a loop that an older ralph started without recording it.
    #[must_use]
    pub fn opening_facts(&self, agent: &str) -> Vec<Fact> {
        let opening = build_opening(agent.into(), &self.rules, &self.criteria);
        let started = Fact::run_started(opening, self.max_iterations());
        let mut facts = alloc::vec![started];
        let current = self.current_iteration();
        for iteration in 1..=current {
            facts.extend([Fact::IterationStarted { iteration }, Fact::AttemptStarted { iteration, attempt: 1 }]);
            let ended = Fact::IterationEnded { iteration, status: IterationStatus::Finished, duration_ms: 0 };
            facts.extend((iteration < current).then_some(ended));
        }
        facts
    }

    /// Returns the first prompt: the task, and how completion is claimed and checked.
    #[must_use]
    pub fn first_prompt(&self) -> String {
        self.render_plan(&PromptPlan::first_iteration())
    }

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
                standing_guidance: &[],
                can_wait: false,
            },
        )
    }
}
