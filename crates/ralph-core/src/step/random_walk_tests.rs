//! Random walks: whatever happens in whatever order, the invariants of the machine hold.
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::step;
use super::test_builders::{
    attempt_key, blocked_report, claiming_report, contradicting_report, crash_report, error_report,
    evidence_with_verdict, lost_session_report, policy_with_checks, prepared_event, quiet_report, rate_limited_report,
    repeating_report, with_session,
};
use crate::attempt::{AgentErrorKind, AttemptReport, ModelSpend};
use crate::budget::{Budget, UnknownCostPolicy};
use crate::control_command::{ControlCommand, PauseTiming};
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, LoopTimer, PlanAvailability, StopSignal, UnixMillis};
use crate::evidence::Verdict;
use crate::fact::{Fact, IterationStatus};
use crate::journal;
use crate::loop_state::{LoopPhase, LoopState};
use crate::outcome::Outcome;
use crate::policy::{ContextMode, Policy, ProofRequirement, RateLimitPolicy};
use crate::prompt::PromptPlan;

fn any_key() -> impl Strategy<Value = AttemptKey> {
    (1..4_u32, 1..4_u32).prop_map(|(iteration, attempt)| attempt_key(iteration, attempt))
}

fn cents_spent(cents: u64) -> ModelSpend {
    ModelSpend { cost_micros: Some(cents * 10_000), ..ModelSpend::default() }
}

fn any_timer() -> impl Strategy<Value = LoopTimer> {
    (any_key(), 0..10).prop_map(|(key, which)| match which {
        0 => LoopTimer::Iteration { key },
        1 => LoopTimer::Silence { key },
        2 => LoopTimer::AfterResult { key },
        3 => LoopTimer::Repeating { key },
        4 => LoopTimer::Handshake { key },
        5 | 6 => LoopTimer::Limit { key },
        7 => LoopTimer::Run,
        _ => LoopTimer::Retry { key },
    })
}

fn any_budget() -> impl Strategy<Value = Budget> {
    let unknown_cost = prop_oneof![3 => Just(UnknownCostPolicy::Bear), 1 => Just(UnknownCostPolicy::Refuse)];
    (prop::option::of(0..3_000_000_u64), prop::option::of(1_000..500_000_u64), unknown_cost).prop_map(
        |(max_cost_micros, max_duration_ms, unknown_cost)| Budget {
            max_cost_micros,
            max_tokens: None,
            max_duration_ms,
            unknown_cost,
            max_iterations: None,
        },
    )
}

fn any_command() -> impl Strategy<Value = ControlCommand> {
    prop_oneof![
        1 => Just(ControlCommand::Cancel),
        3 => Just(ControlCommand::Pause { when: PauseTiming::Idle }),
        3 => Just(ControlCommand::Pause { when: PauseTiming::Now }),
        5 => Just(ControlCommand::Resume),
        2 => "[a-c]".prop_map(|words| ControlCommand::Guide { words }),
    ]
}

/// Events with keys that are often, but not always, those of the attempt in progress.
fn any_event() -> impl Strategy<Value = EventKind> {
    let reports = prop_oneof![
        Just(quiet_report()),
        (0..200_u64).prop_map(|cents| AttemptReport { spend: cents_spent(cents), ..quiet_report() }),
        Just(claiming_report()),
        Just(contradicting_report()),
        Just(blocked_report("x")),
        Just(crash_report()),
        Just(error_report(AgentErrorKind::Auth)),
        Just(error_report(AgentErrorKind::Network)),
        Just(with_session("s1", error_report(AgentErrorKind::Context))),
        Just(with_session("s1", quiet_report())),
        Just(with_session("s2", claiming_report())),
        Just(lost_session_report()),
        Just(repeating_report(AgentErrorKind::Network)),
        prop_oneof![Just(None), Just(Some(i64::MAX)), (0..90_000_i64).prop_map(Some)]
            .prop_map(|reset| with_session("s3", rate_limited_report(reset))),
    ];
    let verdicts = prop_oneof![
        2 => Just(Verdict::Accepted),
        2 => Just(Verdict::Rejected),
        1 => Just(Verdict::CouldNotEvaluate)
    ];
    prop_oneof![
        1 => Just(EventKind::Started),
        2 => verdicts.clone().prop_map(prepared_event),
        8 => (any_key(), reports).prop_map(|(key, report)| EventKind::AttemptEnded { key, report: report.into() }),
        1 => any_key().prop_map(|key| EventKind::ResultSeen { key }),
        1 => any_key().prop_map(|key| EventKind::SpokeAgain { key }),
        1 => any_key().prop_map(|key| EventKind::Repeating { key }),
        1 => any_key().prop_map(|key| EventKind::GotOn { key }),
        1 => any_key().prop_map(|key| EventKind::HandshakeBegan { key }),
        1 => any_key().prop_map(|key| EventKind::HandshakeDone { key }),
        2 => (any_key(), 0..200_u64).prop_map(|(key, cents)| EventKind::Overspent { key, spend: cents_spent(cents) }),
        5 => (any_key(), verdicts)
            .prop_map(|(key, verdict)| EventKind::Verified { key, evidence: evidence_with_verdict(verdict) }),
        4 => any_timer().prop_map(|timer| EventKind::TimerFired { timer }),
        1 => Just(EventKind::Interrupted { signal: StopSignal::Int }),
        4 => any_command().prop_map(|order| EventKind::Ordered { order }),
        1 => Just(EventKind::Broken { what: "gone".into() }),
        1 => Just(EventKind::Faulted { key: AttemptKey::PREPARATION, what: "oh".into() }),
        1 => any_key().prop_map(|key| EventKind::Faulted { key, what: "oh".into() }),
    ]
}

/// What happens to a driver.
#[derive(Debug, Clone)]
enum DriverEvent {
    Event(EventKind, PlanAvailability),
    /// It dies between two events, or before it stored what it decided upon this one; and this is asked for then.
    Crash(Option<EventKind>, Vec<ControlCommand>),
    /// It dies, and somebody cancels what it left.
    Abandonment,
    /// Somebody sets the clock on the wall, or the machine sleeps.
    ClockJump(i64),
}

fn any_driver_event() -> impl Strategy<Value = DriverEvent> {
    prop_oneof![
        20 => (any_event(), any_plan_availability()).prop_map(|(kind, ground)| DriverEvent::Event(kind, ground)),
        2 => Just(DriverEvent::Crash(None, Vec::new())),
        2 => (any_event(), prop::collection::vec(any_command(), 0..2))
            .prop_map(|(kind, orders)| DriverEvent::Crash(Some(kind), orders)),
        1 => Just(DriverEvent::Abandonment),
        1 => (-90_000..90_000_i64).prop_map(DriverEvent::ClockJump),
    ]
}

fn any_plan_availability() -> impl Strategy<Value = PlanAvailability> {
    prop_oneof![19 => Just(PlanAvailability::Available), 1 => Just(PlanAvailability::Missing)]
}

/// What the world outside looks like while effects are performed.
#[derive(Default)]
struct SimulatedDriver {
    running_agent: Option<AttemptKey>,
    /// The agent at work, and the one whose session was last reported.
    agent: u32,
    session_agent: Option<u32>,
    running_checks: Option<AttemptKey>,
    is_preparing: bool,
    finish_count: u32,
    was_last_claim_accepted: bool,
    /// Somebody cancelled the run.
    is_cancelled: bool,
    /// What people said, and no prompt has told yet.
    undelivered_guidance: Vec<String>,
    journal: Vec<Fact>,
}

impl SimulatedDriver {
    /// Hears the event as the driver would: an agent or check that ended is gone.
    fn observe_event(&mut self, kind: &EventKind) -> bool {
        match kind {
            EventKind::AttemptEnded { key, report } => {
                let heard = self.running_agent.take_if(|alive| alive == key).is_some();
                if heard && report.session.is_some() {
                    self.session_agent = Some(self.agent);
                }
                heard
            }
            EventKind::Verified { key, evidence } => {
                let heard = self.running_checks.take_if(|checking| checking == key).is_some();
                self.was_last_claim_accepted = heard && evidence.verdict() == Verdict::Accepted;
                heard
            }
            EventKind::Prepared { .. } => std::mem::take(&mut self.is_preparing),
            EventKind::Faulted { key: AttemptKey::PREPARATION, .. } => std::mem::take(&mut self.is_preparing),
            EventKind::Faulted { key, .. } => {
                let agent = self.running_agent.take_if(|alive| alive == key);
                agent.or(self.running_checks.take_if(|checking| checking == key)).is_some()
            }
            _ => true,
        }
    }

    fn perform_effect(&mut self, effect: &Effect, policy: &Policy) {
        assert_eq!(self.finish_count, 0, "silence after the finish, but {effect:?}");
        assert!(!self.is_cancelled || !is_starting_work(effect), "nothing is begun for who cancelled: {effect:?}");
        match effect {
            Effect::StartAgent { key, plan, session, agent, guidance, .. } => {
                assert!(guidance.ends_with(&self.undelivered_guidance), "what was said stands in the next prompt");
                self.undelivered_guidance.clear();
                let agents = policy.rate_limits.agents.len().max(1);
                assert!((*agent as usize) < agents, "an agent that there is");
                let goes_on = session.is_some();
                assert!(!goes_on || policy.context == ContextMode::Continue, "fresh means fresh");
                assert!(!goes_on || self.session_agent == Some(*agent), "a session of its own");
                assert_eq!(matches!(plan, PromptPlan::Continuation { .. }), goes_on, "words that it remembers");
                self.agent = *agent;
                assert!(!self.iteration_numbers(finished_iteration).contains(&key.iteration), "I2: {key:?} is over");
                assert_eq!(self.running_agent, None, "at most one agent alive");
                assert_eq!(self.running_checks, None, "no agent while checks run");
                assert!(!self.is_preparing, "no agent before the run is prepared");
                self.running_agent = Some(*key);
            }
            Effect::RunChecks { key, .. } => self.running_checks = Some(*key),
            Effect::Prepare { .. } => {
                assert!(
                    self.iteration_numbers(begun_iteration).is_empty(),
                    "nothing is prepared after the first iteration"
                );
                self.is_preparing = true;
            }
            Effect::StopAgent { key } | Effect::KillAgent { key } => {
                assert_eq!(self.running_agent, Some(*key));
            }
            Effect::Finish => {
                assert_eq!(self.running_agent, None, "no agent outlives the run");
                self.finish_count += 1;
            }
            Effect::Record { fact } => self.record_fact(fact, policy.proof),
            Effect::StopChecks { .. } | Effect::StartTimer { .. } | Effect::CancelTimer { .. } => {}
        }
    }

    fn record_fact(&mut self, fact: &Fact, proof: ProofRequirement) {
        self.journal.push(fact.clone());
        if let Fact::RunGuided { words } = fact {
            self.undelivered_guidance.push(words.clone());
        }
        if let Fact::RunFinished { outcome: Outcome::Completed, .. } = fact
            && proof == ProofRequirement::Checks
        {
            assert!(self.was_last_claim_accepted, "completed only upon accepted evidence");
        }
    }

    /// Everything dies with the driver. A run that a signal had ended may go on.
    fn kill_everything(&mut self, state: &LoopState) {
        (self.running_agent, self.running_checks, self.is_preparing) = (None, None, false);
        if state.can_resume() {
            self.finish_count = 0;
        }
    }

    fn iteration_numbers(&self, select: fn(&Fact) -> Option<u32>) -> Vec<u32> {
        self.journal.iter().filter_map(select).collect()
    }
}

/// Tells whether an effect puts somebody to work.
fn is_starting_work(effect: &Effect) -> bool {
    matches!(effect, Effect::StartAgent { .. } | Effect::RunChecks { .. } | Effect::Prepare { .. })
}

fn begun_iteration(fact: &Fact) -> Option<u32> {
    match fact {
        Fact::IterationStarted { iteration } => Some(*iteration),
        _ => None,
    }
}

/// Returns the iterations that have ended, and not only until the run was resumed.
fn ended_iterations(journal: &[Fact]) -> Vec<u32> {
    let mut ended = Vec::new();
    for (at, fact) in journal.iter().enumerate() {
        let is_resumed = || journal[at..].iter().any(|later| matches!(later, Fact::RunResumed { .. }));
        if let Fact::IterationEnded { iteration, status, .. } = fact
            && (*status != IterationStatus::Interrupted || !is_resumed())
        {
            ended.push(*iteration);
        }
    }
    ended
}

/// Returns the iteration that this fact ends for good.
fn finished_iteration(fact: &Fact) -> Option<u32> {
    match fact {
        Fact::IterationEnded { iteration, status, .. } if *status != IterationStatus::Interrupted => Some(*iteration),
        _ => None,
    }
}

fn run_started(proof: ProofRequirement) -> Fact {
    let checks = match proof {
        ProofRequirement::ClaimAlone => Vec::new(),
        ProofRequirement::Checks => Vec::from(["make".into()]),
    };
    Fact::RunStarted { kind: "run".into(), agent: "x".into(), promise: "X".into(), max_iterations: 9, checks }
}

/// The driver's clock and the one on the wall.
type ClockReadings = (UnixMillis, UnixMillis);

/// Decides, records, acts.
fn play_event(
    state: LoopState,
    world: &mut SimulatedDriver,
    (kind, ground, (at, wall)): (EventKind, PlanAvailability, ClockReadings),
) -> LoopState {
    let volatile = kind.is_volatile();
    let before = state.clone();
    let policy = state.policy.clone();
    world.observe_event(&kind);
    let is_resume = matches!(kind, EventKind::Ordered { order: ControlCommand::Resume });
    let is_cancel = matches!(kind, EventKind::Ordered { order: ControlCommand::Cancel });
    let (next, effects) = step(
        state,
        Event { at, wall_clock: wall, random: 0, plan_availability: ground, used_by_others: Vec::new(), kind },
    );
    world.is_cancelled |= is_cancel && before.run_end().is_none();
    let is_paused = matches!(before.phase, LoopPhase::Paused { .. });
    assert!(!is_paused || is_resume || !effects.iter().any(is_starting_work), "a pause ends when somebody says so");
    assert!(!is_paused || next.worked.total_ms() == before.worked.total_ms() || is_resume, "a pause takes no time");
    effects.iter().for_each(|effect| world.perform_effect(effect, &policy));
    assert!(next.limits.waited_ms <= policy.rate_limits.max_wait_ms, "waiting is bounded");
    assert!(!volatile || next == before, "an event that is not stored leaves the loop as it is");
    next
}

/// Plays a walk; events about agents and checks that are not there happen too, but are late ones.
fn run_walk(policy: Policy, events: Vec<DriverEvent>) -> (LoopState, SimulatedDriver) {
    let mut world = SimulatedDriver { journal: Vec::from([run_started(policy.proof)]), ..SimulatedDriver::default() };
    let mut state = LoopState::new(policy);
    let mut offset = 0;
    for (index, happening) in events.into_iter().enumerate() {
        let at = UnixMillis(i64::try_from(index).unwrap_or(0) * 1_000);
        let wall = UnixMillis(at.0 + offset);
        state = match happening {
            DriverEvent::ClockJump(jump) => {
                offset += jump;
                continue;
            }
            DriverEvent::Abandonment => {
                world.kill_everything(&state);
                let state =
                    play_event(state, &mut world, (EventKind::Abandoned, PlanAvailability::Available, (at, wall)));
                assert!(!state.can_resume(), "who is abandoned does not come back");
                state
            }
            DriverEvent::Event(kind, ground) => play_event(state, &mut world, (kind, ground, (at, wall))),
            DriverEvent::Crash(unstored, orders) => {
                if let Some(kind) = unstored {
                    world.observe_event(&kind);
                    let _ = step(
                        state.clone(),
                        Event {
                            at,
                            wall_clock: wall,
                            random: 0,
                            plan_availability: PlanAvailability::Available,
                            used_by_others: Vec::new(),
                            kind,
                        },
                    );
                }
                world.kill_everything(&state);
                let recovered = EventKind::Recovered { changed: Vec::new(), orders };
                play_event(state, &mut world, (recovered, PlanAvailability::Available, (at, wall)))
            }
        };
        let stored = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<LoopState>(&stored).unwrap(), state);
        assert_eq!(journal::check_facts(&world.journal), Ok(()), "{:?}", world.journal);
    }
    (state, world)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: L1, L2, L6, L8, L10, L11, L13, V8, V9
    // fault: 1, 2, 3, 4, 5
    #[test]
    fn the_invariants_hold_on_random_walks(
        happenings in prop::collection::vec(any_driver_event(), 0..60),
        max in 1..4_u32,
        checks in any::<bool>(),
        context in prop_oneof![Just(ContextMode::Fresh), Just(ContextMode::Continue)],
        agents in 1..4_usize,
        prepared_at_once in any::<bool>(),
        budget in any_budget(),
    ) {
        let policy = if checks { policy_with_checks(max) } else { Policy::new(max) };
        let agents = (0..agents).map(|agent| format!("agent-{agent}")).collect();
        let rate_limits = RateLimitPolicy { max_wait_ms: 150_000, agents };
        let policy = Policy { context, rate_limits, budget, ..policy };
        let mut all = Vec::from([DriverEvent::Event(EventKind::Started, PlanAvailability::Available)]);
        if checks && prepared_at_once {
            all.push(DriverEvent::Event(prepared_event(Verdict::Rejected), PlanAvailability::Available));
        }
        all.extend(happenings);
        let (state, world) = run_walk(policy, all);
        prop_assert!(world.finish_count <= 1);
        prop_assert_eq!(state.run_end().is_some(), world.finish_count == 1);
        let started = world.iteration_numbers(begun_iteration);
        let numbers: Vec<u32> = (1..=u32::try_from(started.len()).unwrap_or(0)).collect();
        prop_assert_eq!(&started, &numbers, "I1: no gap in iteration numbers");
        prop_assert!(started.len() <= max as usize);
        if !state.can_resume() {
            prop_assert_eq!(&ended_iterations(&world.journal), &numbers, "I1: each iteration ends exactly once");
        }
    }
}
