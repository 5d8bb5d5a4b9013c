//! The loop of one session as it is kept between its events.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::decide::Moment;
use crate::claim::ClaimRules;
use crate::criterion::Criterion;
use crate::event::{Event, EventKind, Ground, Millis};
use crate::policy::{Baseline, Context, Policy, Proof};
use crate::prompt::{Completion, Parts, PromptPlan, render};
use crate::seal::{Seal, Sealing};
use crate::state::{Loop, Phase};
use crate::step::step;

/// How soon after a loop has begun the same beginning is the same one.
const ECHO_MS: u64 = 10_000;

/// How long after its time a session may still come back to its loop.
const SILENCE_MS: u64 = 24 * 3_600_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLoop {
    /// What the user wants done, as it was written.
    pub prompt: String,
    pub rules: ClaimRules,
    pub criteria: Vec<Criterion>,
    /// What must not change before a claim, where there are checks.
    pub seal: Option<Seal>,
    pub machine: Loop,
    /// Errors of the session are its own business until then.
    pub recovering_until: Option<Millis>,
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
    pub started: Millis,
    pub last_iteration: Option<Millis>,
}

/// What a loop is begun with.
#[derive(Debug, Clone)]
pub struct Plan {
    pub prompt: String,
    pub rules: ClaimRules,
    pub criteria: Vec<Criterion>,
    pub policy: Policy,
    /// What must not change, where there are checks.
    pub sealing: Option<Sealing>,
}

/// Begins a loop. What must be proven but cannot be sealed is over at once, and says why.
#[must_use]
pub fn begin(plan: Plan, moment: &Moment) -> SessionLoop {
    let Plan { prompt, rules, criteria, policy, sealing } = plan;
    let proof = if criteria.is_empty() { Proof::ClaimAlone } else { Proof::Checks };
    let policy = Policy { proof, baseline: Baseline::Skip, context: Context::Continue, ..policy };
    let (mut machine, _) = step(Loop::new(policy), event(moment, EventKind::Started));
    let mut seal = None;
    if let Phase::Preparing { .. } = machine.phase {
        let sealing = sealing.unwrap_or(Sealing::Impossible { why: "nothing was sealed".into() });
        if let Sealing::Done { seal: done } = &sealing {
            seal = Some(done.clone());
        }
        let prepared = EventKind::Prepared { sealing, baseline: Vec::new() };
        machine = step(machine, event(moment, prepared)).0;
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

pub(super) fn event(moment: &Moment, kind: EventKind) -> Event {
    Event {
        at: moment.at,
        wall: moment.at,
        dice: moment.dice,
        ground: Ground::Firm,
        others: Vec::new(),
        kind,
    }
}

impl SessionLoop {
    /// Tells whether the session is to go on.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.machine.can_go_on()
    }

    /// Tells whether another loop that begins is this one, heard of again: where two hooks of ours are installed, both are told
    /// of one prompt.
    #[must_use]
    pub fn is_echoed_by(&self, other: &Self) -> bool {
        let is_untouched = self.is_active() && self.last_stop.is_none() && self.last_iteration.is_none();
        let asked = |of: &Self| (of.prompt.clone(), of.rules.clone(), of.criteria.clone(), of.seal.clone());
        is_untouched
            && other.started.since(self.started) <= ECHO_MS
            && asked(self) == asked(other)
            && self.machine.policy == other.machine.policy
    }

    /// Tells whether its session has kept silent until long after its time was over. Who is still there hears of the end of
    /// his loop himself.
    #[must_use]
    pub fn is_forsaken(&self, at: Millis) -> bool {
        let most = self.machine.policy.budget.max_duration_ms;
        self.is_active() && most.is_some_and(|most| at.since(self.started) > most.saturating_add(SILENCE_MS))
    }

    /// Returns the iteration that is going on, or the last one.
    #[must_use]
    pub fn iteration(&self) -> u32 {
        match &self.machine.phase {
            Phase::Working { iteration, .. }
            | Phase::Waiting { iteration, .. }
            | Phase::Limited { iteration, .. }
            | Phase::Verifying { iteration, .. }
            | Phase::Stopping { iteration, .. } => iteration.number,
            Phase::Paused { left } | Phase::Interrupted { left, .. } => left.iterations(),
            Phase::Finished { iterations, .. } => *iterations,
            Phase::Ready | Phase::Preparing { .. } | Phase::PreparingStopped { .. } => 0,
        }
    }

    #[must_use]
    pub fn max_iterations(&self) -> u32 {
        self.machine.policy.max_iterations
    }

    /// Returns what the session must be told to begin: the task, and how its end is claimed and checked.
    #[must_use]
    pub fn first_prompt(&self) -> String {
        self.render(&PromptPlan::first())
    }

    /// Returns the prompt that a plan describes.
    pub(super) fn render(&self, plan: &PromptPlan) -> String {
        let checks: Vec<String> = self.criteria.iter().map(Criterion::shown).collect();
        let nonce = match &self.machine.phase {
            Phase::Working { iteration, .. } => iteration.nonce.as_ref(),
            Phase::Ready
            | Phase::Preparing { .. }
            | Phase::PreparingStopped { .. }
            | Phase::Waiting { .. }
            | Phase::Limited { .. }
            | Phase::Verifying { .. }
            | Phase::Stopping { .. }
            | Phase::Paused { .. }
            | Phase::Interrupted { .. }
            | Phase::Finished { .. } => None,
        };
        render(
            plan,
            &Parts {
                task: &self.prompt,
                promise: &self.rules.promise,
                nonce,
                checks: &checks,
                iteration: self.iteration(),
                max_iterations: self.max_iterations(),
                completion: Completion::Added,
                notes: None,
                guidance: &[],
            },
        )
    }
}
