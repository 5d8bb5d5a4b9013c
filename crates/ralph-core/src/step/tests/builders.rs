//! Builders for the tests of the state machine. A scenario plays events one by one, as a driver would.
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::attempt::{
    AgentErrorKind, AgentReportedError, AttemptEnding, AttemptReport, LeftoverProcesses, ModelSpend, OutputParseStatus,
    SessionResumability,
};
use crate::baseline::{BaselineProblem, BaselineTrial};
use crate::budget::BudgetUsage;
use crate::claim::{
    Claim, ClaimReading, ClaimSource, Contradiction, ContradictionSearch, NoClaimReason, SignalCall, WaitRequest,
    WaitTime,
};
use crate::control_command::ControlCommand;
use crate::effect::{AgentStart, Effect};
use crate::event::{
    AttemptKey, Event, EventKind, LifecycleEvent, LoopTimer, PlanAvailability, RunOpening, StopSignal, UnixMillis,
    WorkEvent,
};
use crate::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use crate::fact::Fact;
use crate::loop_state::{AgentSession, LoopPhase, LoopState};
use crate::outcome::Outcome;
use crate::policy::{ClaimVerification, Policy};
use crate::prompt::PromptPlan;
use crate::receipt::WorkTreeSnapshot;
use crate::seal::{Seal, SealingResult};
use crate::step::step;

pub(crate) const fn attempt_key(iteration: u32, attempt: u32) -> AttemptKey {
    AttemptKey { iteration, attempt }
}

pub(crate) fn policy_with_checks(max_iterations: u32) -> Policy {
    Policy { proof: ClaimVerification::Checks, ..Policy::new(max_iterations) }
}

/// An attempt that exited with code 0 and made no claim.
pub(crate) fn quiet_report() -> AttemptReport {
    AttemptReport {
        ending: AttemptEnding::Exited { code: 0 },
        stream: OutputParseStatus::Understood,
        unknown_records: 0,
        stray_line: String::new(),
        lived_ms: 60_000,
        error: None,
        repeating: None,
        reading: ClaimReading {
            claim: Claim::None { why: NoClaimReason::NoTag },
            blocked: None,
            reject: None,
            wait: None,
            signal_call: SignalCall::NotSeen,
            final_text: "working on it".to_string(),
        },
        spend: ModelSpend::default(),
        session: None,
        resumability: SessionResumability::None,
        model: None,
        messages: None,
        stderr_tail: String::new(),
        leftovers: LeftoverProcesses::default(),
        denied_actions: Vec::new(),
        has_changed_files: None,
    }
}

pub(crate) fn claiming_report() -> AttemptReport {
    let mut report = quiet_report();
    report.reading.claim =
        Claim::Made { text: "DONE".to_string(), line: 1, source: ClaimSource::Message, contradiction: None };
    report
}

/// An attempt whose last call was a tool of ralph that gives a signal.
pub(crate) fn tool_calling_report() -> AttemptReport {
    let mut report = quiet_report();
    report.reading.signal_call = SignalCall::Last {
        has_text_after: true,
        retraction: None,
        contradiction: None,
        search: ContradictionSearch::On { extra: Vec::new() },
    };
    report
}

pub(crate) fn contradicting_report() -> AttemptReport {
    let mut report = quiet_report();
    let contradiction = Some(Contradiction { phrase: "tests fail".to_string(), sentence: "2 tests fail.".to_string() });
    report.reading.claim =
        Claim::Made { text: "DONE".to_string(), line: 1, source: ClaimSource::Message, contradiction };
    report
}

pub(crate) fn blocked_report(reason: &str) -> AttemptReport {
    let mut report = quiet_report();
    report.reading.blocked = Some(reason.to_string());
    report
}

pub(crate) fn waiting_report(time: WaitTime, reason: &str) -> AttemptReport {
    let mut report = quiet_report();
    report.reading.claim = Claim::None { why: NoClaimReason::Waits };
    report.reading.wait = Some(WaitRequest { time, reason: reason.to_string() });
    report
}

pub(crate) fn report_with_ending(ending: AttemptEnding) -> AttemptReport {
    AttemptReport { ending, ..quiet_report() }
}

pub(crate) fn cents_spent(cents: u64) -> ModelSpend {
    ModelSpend { cost_micros: Some(cents * 10_000), ..ModelSpend::default() }
}

pub(crate) fn crash_report() -> AttemptReport {
    report_with_ending(AttemptEnding::Exited { code: 1 })
}

pub(crate) fn error_report(kind: AgentErrorKind) -> AttemptReport {
    AttemptReport { error: Some(reported_error(kind, None)), ..claiming_report() }
}

fn reported_error(kind: AgentErrorKind, reset_at: Option<UnixMillis>) -> AgentReportedError {
    AgentReportedError { kind, message: "API error".to_string(), reset_at }
}

/// An attempt that a provider refused, with the reset time if it reported one.
pub(crate) fn rate_limited_report(reset_at: Option<i64>) -> AttemptReport {
    let error = reported_error(AgentErrorKind::RateLimit, reset_at.map(UnixMillis));
    AttemptReport { error: Some(error), ..crash_report() }
}

/// An attempt that ralph stopped while the agent retried requests that failed with this error.
pub(crate) fn repeating_report(kind: AgentErrorKind) -> AttemptReport {
    AttemptReport {
        repeating: Some(reported_error(kind, None)),
        ..report_with_ending(AttemptEnding::Signalled { signal: 15 })
    }
}

/// Adds a session that can be resumed.
pub(crate) fn with_session(id: &str, report: AttemptReport) -> AttemptReport {
    AttemptReport { session: Some(id.to_string()), resumability: SessionResumability::Resumable, ..report }
}

pub(crate) fn lost_session_report() -> AttemptReport {
    AttemptReport { resumability: SessionResumability::Lost, ..crash_report() }
}

pub(crate) fn evidence_with_verdict(verdict: Verdict) -> Evidence {
    let reason = match verdict {
        Verdict::Accepted => "External verification passed",
        Verdict::Rejected => "Command exited with 1, expected 0",
        Verdict::CouldNotEvaluate => "Command could not run: exit code 127",
    };
    let check = CheckEvidence {
        exit_code: Some(0),
        duration_ms: 5,
        tail: "1 failed".to_string(),
        log: "check.log".to_string(),
        ..CheckEvidence::without_output(EvidenceKind::External, "make test".to_string(), verdict, reason.to_string())
    };
    Evidence { checks: [check].into() }
}

pub(crate) fn prepared_event(verdict: Verdict) -> EventKind {
    let trials = evidence_with_verdict(verdict).checks.into_iter();
    let trials = trials.map(|evidence| BaselineTrial { evidence, lack: BaselineProblem::NotFixableByAgent });
    EventKind::Work(WorkEvent::Prepared {
        sealing: SealingResult::Done { seal: Box::new(sample_seal()) },
        baseline: trials.collect(),
    })
}

pub(super) fn started_event() -> EventKind {
    EventKind::Lifecycle(LifecycleEvent::Started { opening: sample_opening(), orders: Vec::new() })
}

pub(crate) fn sample_opening() -> RunOpening {
    RunOpening {
        kind: "run".to_string(),
        agent: "one".to_string(),
        promise: "DONE".to_string(),
        permissions: Some("may read".to_string()),
        checks: ["make test".to_string()].into(),
    }
}

pub(super) fn sample_snapshot() -> WorkTreeSnapshot {
    WorkTreeSnapshot { commit: None, tree: "t".to_string(), is_committed: false, left_out: None }
}

pub(crate) fn sample_seal() -> Seal {
    Seal {
        digest: "d".to_string(),
        criteria_digest: "c".to_string(),
        base: Some("b".to_string()),
        files: Vec::new(),
        folders: Vec::new(),
        absent: Vec::new(),
        touched: Vec::new(),
        git: Vec::new(),
        allowed: crate::seal::AllowedChanges::default(),
        uncommitted: Vec::new(),
        protected: None,
        notes: Vec::new(),
    }
}

/// A loop in a test, with the effects of the last event.
#[derive(Clone)]
pub(crate) struct LoopScenario {
    pub(crate) state: LoopState,
    pub(crate) effects: Vec<Effect>,
    /// All facts so far.
    pub(crate) journal: Vec<Fact>,
    now: i64,
    wall_clock: i64,
    plan_availability: PlanAvailability,
    used_by_others: Vec<BudgetUsage>,
    standing_guidance: Vec<String>,
}

impl LoopScenario {
    pub(crate) fn new(policy: Policy) -> Self {
        Self {
            state: LoopState::new(policy),
            effects: Vec::new(),
            journal: Vec::new(),
            now: 0,
            wall_clock: 0,
            plan_availability: PlanAvailability::Available,
            used_by_others: Vec::new(),
            standing_guidance: Vec::new(),
        }
    }

    /// Starts the run and completes the preparation, so that the first iteration runs.
    pub(crate) fn start_run(policy: Policy) -> Self {
        let scene = Self::new(policy).play_event(started_event());
        match scene.state.phase {
            LoopPhase::Preparing { .. } => scene.finish_preparation(Verdict::Rejected),
            _ => scene,
        }
    }

    /// Completes the preparation with this verdict of the baseline check.
    pub(crate) fn finish_preparation(self, verdict: Verdict) -> Self {
        self.play_event(prepared_event(verdict))
    }

    /// Plays one event and replaces the effects of earlier ones.
    pub(crate) fn play_event(mut self, kind: EventKind) -> Self {
        self.now += 1_000;
        self.wall_clock += 1_000;
        let event = Event {
            at: UnixMillis(self.now),
            wall_clock: UnixMillis(self.wall_clock),
            random: u32::MAX,
            plan_availability: self.plan_availability,
            used_by_others: self.used_by_others.clone(),
            standing_guidance: self.standing_guidance.clone(),
            kind,
        };
        let (state, effects) = step(self.state.clone(), event);
        let mut scene = Self { state, effects, ..self };
        let facts: Vec<Fact> = scene.recorded_facts().into_iter().cloned().collect();
        scene.journal.extend(facts);
        scene
    }

    /// Removes the implementation plan.
    pub(crate) fn without_plan(mut self) -> Self {
        self.plan_availability = PlanAvailability::Missing;
        self
    }

    /// Sets the usage of other runs of the shared budgets.
    pub(crate) fn with_other_usage(mut self, others: &[BudgetUsage]) -> Self {
        self.used_by_others = others.to_vec();
        self
    }

    /// Sets the guidance that is part of every prompt.
    pub(crate) fn with_standing_guidance(mut self, words: &[&str]) -> Self {
        self.standing_guidance = words.iter().map(ToString::to_string).collect();
        self
    }

    /// Sets both clocks for the next event.
    pub(crate) fn set_time(mut self, now: i64) -> Self {
        self.now = now - 1_000;
        self.set_wall_clock(now)
    }

    /// Sets only the wall clock.
    pub(crate) fn set_wall_clock(mut self, now: i64) -> Self {
        self.wall_clock = now - 1_000;
        self
    }

    pub(crate) fn end_attempt(self, iteration: u32, attempt: u32, report: AttemptReport) -> Self {
        self.play_event(EventKind::Work(WorkEvent::AttemptEnded {
            key: attempt_key(iteration, attempt),
            report: report.into(),
        }))
    }

    pub(crate) fn deliver_verdict(self, iteration: u32, attempt: u32, verdict: Verdict) -> Self {
        self.play_event(EventKind::Work(WorkEvent::Verified {
            key: attempt_key(iteration, attempt),
            evidence: evidence_with_verdict(verdict),
            snapshot: Some(sample_snapshot()),
            tree_after_checks: None,
        }))
    }

    pub(crate) fn fire_timer(self, timer: LoopTimer) -> Self {
        self.play_event(EventKind::TimerFired { timer, quiet_ms: None })
    }

    pub(crate) fn send_signal(self, signal: StopSignal) -> Self {
        self.play_event(EventKind::interrupted(signal))
    }

    /// Ends the driver and resumes the loop with another one.
    pub(crate) fn recover_run(self) -> Self {
        self.recover_run_with(Vec::new())
    }

    pub(crate) fn recover_run_with(self, orders: Vec<ControlCommand>) -> Self {
        self.play_event(EventKind::Lifecycle(LifecycleEvent::Recovered { changed: Vec::new(), orders }))
    }

    pub(crate) fn started_attempt(&self) -> Option<AttemptKey> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent(AgentStart { key, .. }) => Some(*key),
            _ => None,
        })
    }

    /// Returns the prompt plan, session and agent of the started attempt.
    pub(crate) fn start_details(&self) -> Option<(PromptPlan, Option<&str>, u32)> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent(AgentStart { plan, session, agent, .. }) => {
                Some((plan.clone(), session.as_ref().map(|session| session.id.as_str()), *agent))
            }
            _ => None,
        })
    }

    pub(crate) fn resumed_session(&self) -> Option<&AgentSession> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent(AgentStart { session, .. }) => session.as_ref(),
            _ => None,
        })
    }

    pub(crate) fn has_effect(&self, wanted: &Effect) -> bool {
        self.effects.contains(wanted)
    }

    pub(crate) fn recorded_facts(&self) -> Vec<&Fact> {
        let facts = self.effects.iter().filter_map(|effect| match effect {
            Effect::Record { fact } => Some(fact),
            _ => None,
        });
        facts.collect()
    }

    pub(crate) fn fact_names(&self) -> Vec<&'static str> {
        self.recorded_facts().into_iter().map(Fact::name).collect()
    }

    pub(crate) fn run_outcome(&self) -> Option<Outcome> {
        self.state.run_end().map(|ended| ended.outcome)
    }

    pub(crate) fn end_reason(&self) -> &str {
        self.state.run_end().map_or("", |ended| ended.reason.as_str())
    }

    pub(crate) fn exit_code(&self) -> Option<u8> {
        self.state.run_end().map(|ended| ended.exit_code)
    }

    pub(crate) fn current_phase(&self) -> &LoopPhase {
        &self.state.phase
    }
}
