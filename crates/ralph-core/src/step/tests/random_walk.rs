//! Random walks: the invariants of the state machine hold for any sequence of events.
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::agent_report::any_agent_report;
use super::builders::{
    attempt_key, blocked_report, cents_spent, claiming_report, contradicting_report, crash_report, error_report,
    evidence_with_verdict, lost_session_report, policy_with_checks, prepared_event, quiet_report, rate_limited_report,
    repeating_report, sample_opening, started_event, tool_calling_report, waiting_report, with_session,
};
use crate::attempt::{AgentErrorKind, AttemptReport};
use crate::budget::{Budget, UnknownCostPolicy};
use crate::claim::WaitTime;
use crate::continuation::Continuation;
use crate::control_command::{ControlCommand, PauseTiming};
use crate::effect::{AgentStart, Effect};
use crate::event::{
    AgentActivity, AttemptKey, Event, EventKind, LifecycleEvent, LoopTimer, PlanAvailability, RunControl, RunOpening,
    StopSignal, UnixMillis, WorkEvent,
};
use crate::evidence::Verdict;
use crate::fact::{Fact, IterationStatus};
use crate::journal;
use crate::limit_change::{LimitChange, LimitChanges};
use crate::loop_state::{LoopPhase, LoopState};
use crate::outcome::{CancelCause, Outcome};
use crate::policy::{ClaimVerification, ContextMode, ParkingPolicy, Policy, RateLimitPolicy};
use crate::prompt::PromptPlan;
use crate::step::step;

fn any_key() -> impl Strategy<Value = AttemptKey> {
    (1..4_u32, 1..4_u32).prop_map(|(iteration, attempt)| attempt_key(iteration, attempt))
}

fn any_timer() -> impl Strategy<Value = LoopTimer> {
    (any_key(), 0..11).prop_map(|(key, which)| match which {
        0 => LoopTimer::Iteration { key },
        1 => LoopTimer::Silence { key },
        2 => LoopTimer::AfterResult { key },
        3 => LoopTimer::Repeating { key },
        4 => LoopTimer::Handshake { key },
        5 | 6 => LoopTimer::Limit { key },
        7 => LoopTimer::Run,
        8 => LoopTimer::Login { key },
        _ => LoopTimer::Retry { key },
    })
}

pub(super) fn any_budget() -> impl Strategy<Value = Budget> {
    let unknown_cost = prop_oneof![3 => Just(UnknownCostPolicy::Allow), 1 => Just(UnknownCostPolicy::Refuse)];
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
        2 => any_limit_changes().prop_map(|changes| ControlCommand::Limit { changes }),
        3 => any_agent_report().prop_map(|report| ControlCommand::Report { report }),
    ]
}

fn any_limit_change(values: core::ops::Range<u64>) -> impl Strategy<Value = Option<LimitChange>> {
    let change = (values, any::<bool>()).prop_map(|(value, is_total)| match is_total {
        true => LimitChange::Total(value),
        false => LimitChange::Added(value),
    });
    prop::option::of(change)
}

fn any_limit_changes() -> impl Strategy<Value = LimitChanges> {
    (any_limit_change(1..5), any_limit_change(0..3_000_000), any_limit_change(1_000..500_000)).prop_map(
        |(max_iterations, max_cost_micros, max_duration_ms)| LimitChanges {
            max_iterations,
            max_cost_micros,
            max_tokens: None,
            max_duration_ms,
        },
    )
}

/// Events whose keys often, but not always, match the current attempt.
fn any_event() -> impl Strategy<Value = EventKind> {
    let reports = prop_oneof![
        Just(quiet_report()),
        (0..200_u64).prop_map(|cents| AttemptReport { spend: cents_spent(cents), ..quiet_report() }),
        Just(claiming_report()),
        Just(tool_calling_report()),
        Just(contradicting_report()),
        Just(blocked_report("x")),
        (0..100_000_u64).prop_map(|ms| waiting_report(WaitTime::For { ms }, "the build")),
        (0..90_000_i64).prop_map(|at| waiting_report(WaitTime::Until(UnixMillis(at)), "the build")),
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
        1 => Just(started_event()),
        2 => verdicts.clone().prop_map(prepared_event),
        8 => (any_key(), reports).prop_map(|(key, report)| EventKind::Work(WorkEvent::AttemptEnded { key, report: report.into() })),
        1 => any_key().prop_map(|key| EventKind::Agent { key, activity: AgentActivity::ResultSeen }),
        1 => any_key().prop_map(|key| EventKind::Agent { key, activity: AgentActivity::OutputResumed }),
        1 => any_key().prop_map(|key| EventKind::Agent { key, activity: AgentActivity::RepeatingStarted }),
        1 => any_key().prop_map(|key| EventKind::Agent { key, activity: AgentActivity::RepeatingEnded }),
        1 => (any_key(), 1..5_u32).prop_map(|(key, times)| EventKind::Agent { key, activity: AgentActivity::LoginRejected { times } }),
        1 => any_key().prop_map(|key| EventKind::Agent { key, activity: AgentActivity::LoginAccepted }),
        1 => any_key().prop_map(|key| EventKind::Agent { key, activity: AgentActivity::HandshakeStarted }),
        1 => any_key().prop_map(|key| EventKind::Agent { key, activity: AgentActivity::HandshakeDone }),
        2 => (any_key(), 0..200_u64).prop_map(|(key, cents)| EventKind::Agent { key, activity: AgentActivity::Overspent { spend: cents_spent(cents) } }),
        5 => (any_key(), verdicts)
            .prop_map(|(key, verdict)| EventKind::Work(WorkEvent::Verified { key, evidence: evidence_with_verdict(verdict), snapshot: None, tree_after_checks: None })),
        4 => (any_timer(), proptest::option::of(0..2_000_000_u64))
            .prop_map(|(timer, quiet_ms)| EventKind::TimerFired { timer, quiet_ms }),
        1 => Just(EventKind::interrupted(StopSignal::Int)),
        4 => any_command().prop_map(EventKind::command_received),
        1 => Just(EventKind::broken("gone".into())),
        1 => Just(EventKind::Work(WorkEvent::Faulted { key: AttemptKey::PREPARATION, what: "oh".into() })),
        1 => any_key().prop_map(|key| EventKind::Work(WorkEvent::Faulted { key, what: "oh".into() })),
    ]
}

/// Something that happens to the driver.
#[derive(Debug, Clone)]
pub(super) enum DriverEvent {
    Event(EventKind, PlanAvailability),
    /// It crashes between two events, or before it stored the result of this event; then these commands are sent.
    Crash(Option<EventKind>, Vec<ControlCommand>),
    /// It crashes, and the run is cancelled without a driver.
    Abandonment,
    /// A person continues the run if it has ended, and resumes it.
    Continuation(Continuation),
    /// The wall clock is set, or the machine sleeps.
    ClockJump(i64),
}

pub(super) fn any_driver_event() -> impl Strategy<Value = DriverEvent> {
    prop_oneof![
        20 => (any_event(), any_plan_availability())
            .prop_map(|(kind, availability)| DriverEvent::Event(kind, availability)),
        2 => Just(DriverEvent::Crash(None, Vec::new())),
        2 => (any_event(), prop::collection::vec(any_command(), 0..2))
            .prop_map(|(kind, commands)| DriverEvent::Crash(Some(kind), commands)),
        1 => Just(DriverEvent::Abandonment),
        3 => (any_limit_changes(), prop::option::of("[d-f]"))
            .prop_map(|(limits, guidance)| DriverEvent::Continuation(Continuation { limits, guidance })),
        1 => (-90_000..90_000_i64).prop_map(DriverEvent::ClockJump),
    ]
}

fn any_plan_availability() -> impl Strategy<Value = PlanAvailability> {
    prop_oneof![19 => Just(PlanAvailability::Available), 1 => Just(PlanAvailability::Missing)]
}

/// A driver that performs effects and checks the invariants.
#[derive(Default)]
pub(super) struct SimulatedDriver {
    running_agent: Option<AttemptKey>,
    /// The current agent.
    agent: u32,
    /// The agent whose session was last reported.
    session_agent: Option<u32>,
    running_checks: Option<AttemptKey>,
    is_preparing: bool,
    has_receipt: bool,
    finish_count: u32,
    was_last_claim_accepted: bool,
    is_cancelled: bool,
    /// Guidance that no prompt has contained yet.
    undelivered_guidance: Vec<String>,
    pub(super) journal: Vec<Fact>,
    /// The highest iteration limit so far.
    max_iterations: u32,
}

impl SimulatedDriver {
    /// Updates the running processes after an event. Returns whether the event belongs to a running process.
    fn observe_event(&mut self, kind: &EventKind) -> bool {
        match kind {
            EventKind::Work(WorkEvent::AttemptEnded { key, report }) => {
                let is_current = self.running_agent.take_if(|running| running == key).is_some();
                if is_current && report.session.is_some() {
                    self.session_agent = Some(self.agent);
                }
                is_current
            }
            EventKind::Work(WorkEvent::Verified { key, evidence, .. }) => {
                let is_current = self.running_checks.take_if(|running| running == key).is_some();
                self.was_last_claim_accepted = is_current && evidence.verdict() == Verdict::Accepted;
                is_current
            }
            EventKind::Work(WorkEvent::Prepared { .. }) => std::mem::take(&mut self.is_preparing),
            EventKind::Work(WorkEvent::Faulted { key: AttemptKey::PREPARATION, .. }) => {
                std::mem::take(&mut self.is_preparing)
            }
            EventKind::Work(WorkEvent::Faulted { key, .. }) => {
                let agent = self.running_agent.take_if(|running| running == key);
                agent.or(self.running_checks.take_if(|running| running == key)).is_some()
            }
            _ => true,
        }
    }

    fn perform_effect(&mut self, effect: &Effect, policy: &Policy) {
        assert_eq!(self.finish_count, 0, "no effect after the finish, but {effect:?}");
        assert!(!self.is_cancelled || !is_starting_work(effect), "no work starts after a cancel: {effect:?}");
        match effect {
            Effect::StartAgent(AgentStart { key, plan, session, agent, guidance, standing_guidance, .. }) => {
                assert_eq!(standing_guidance, &["use tabs"], "standing guidance is in every prompt");
                assert!(guidance.ends_with(&self.undelivered_guidance), "guidance is in the next prompt");
                self.undelivered_guidance.clear();
                let agents = policy.rate_limits.agents.len().max(1);
                assert!((*agent as usize) < agents, "the agent exists");
                let is_resumed = session.is_some();
                assert!(!is_resumed || policy.context == ContextMode::Continue, "fresh context resumes no session");
                assert!(!is_resumed || self.session_agent == Some(*agent), "an agent resumes only its own sessions");
                assert_eq!(
                    matches!(plan, PromptPlan::Continuation { .. }),
                    is_resumed,
                    "only resumed sessions continue"
                );
                self.agent = *agent;
                assert!(!self.iteration_numbers(finished_iteration).contains(&key.iteration), "I2: {key:?} has ended");
                assert_eq!(self.running_agent, None, "at most one running agent");
                assert_eq!(self.running_checks, None, "no agent while checks run");
                assert!(!self.is_preparing, "no agent before the run is prepared");
                self.running_agent = Some(*key);
            }
            Effect::RunChecks { key, .. } => self.running_checks = Some(*key),
            Effect::Prepare { .. } => {
                assert!(self.iteration_numbers(begun_iteration).is_empty(), "no preparation after the first iteration");
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
            Effect::RecordReceipt { .. } => self.has_receipt = true,
            Effect::StopChecks { .. } | Effect::StartTimer { .. } | Effect::CancelTimer { .. } => {}
        }
    }

    fn record_fact(&mut self, fact: &Fact, proof: ClaimVerification) {
        self.journal.push(fact.clone());
        if let Fact::LimitsChanged { limits } = fact {
            assert!(!limits.is_empty(), "a recorded change changes something");
            self.max_iterations = self.max_iterations.max(limits.max_iterations.unwrap_or(0));
        }
        if let Fact::RunGuided { words } = fact {
            self.undelivered_guidance.push(words.clone());
        }
        if let Fact::RunFinished { outcome, .. } = fact {
            assert_eq!(
                self.has_receipt,
                *outcome == Outcome::Completed,
                "a receipt before a completion, and only there"
            );
        }
        if let Fact::RunFinished { outcome: Outcome::Completed, .. } = fact
            && proof == ClaimVerification::Checks
        {
            assert!(self.was_last_claim_accepted, "completed only with accepted evidence");
        }
    }

    /// Ends all processes with the driver. A run that a signal ended can be resumed.
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

/// Returns whether an effect starts an agent, checks or a preparation.
fn is_starting_work(effect: &Effect) -> bool {
    matches!(effect, Effect::StartAgent(_) | Effect::RunChecks { .. } | Effect::Prepare { .. })
}

fn begun_iteration(fact: &Fact) -> Option<u32> {
    match fact {
        Fact::IterationStarted { iteration } => Some(*iteration),
        _ => None,
    }
}

/// Returns the iterations that have ended, except interrupted ones that were resumed.
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

/// Returns the iteration that this fact ends permanently.
fn finished_iteration(fact: &Fact) -> Option<u32> {
    match fact {
        Fact::IterationEnded { iteration, status, .. } if *status != IterationStatus::Interrupted => Some(*iteration),
        _ => None,
    }
}

pub(super) fn run_started(proof: ClaimVerification) -> EventKind {
    let checks = match proof {
        ClaimVerification::ClaimAlone => Vec::new(),
        ClaimVerification::Checks => Vec::from(["make".into()]),
    };
    let opening = RunOpening { checks, ..sample_opening() };
    EventKind::Lifecycle(LifecycleEvent::Started { opening, orders: Vec::new() })
}

/// The driver's clock and the wall clock.
#[derive(Clone, Copy)]
struct ClockReadings {
    at: UnixMillis,
    wall_clock: UnixMillis,
}

impl ClockReadings {
    fn event(self, kind: EventKind, plan_availability: PlanAvailability) -> Event {
        let Self { at, wall_clock } = self;
        let standing_guidance = Vec::from(["use tabs".into()]);
        Event { at, wall_clock, random: 0, plan_availability, used_by_others: Vec::new(), standing_guidance, kind }
    }
}

/// Plays one event and performs its effects.
fn play_event(state: LoopState, driver: &mut SimulatedDriver, event: Event) -> LoopState {
    let kind = &event.kind;
    let is_volatile = kind.is_volatile();
    let before = state.clone();
    let policy = state.policy.clone();
    driver.observe_event(kind);
    let is_resume = match kind {
        EventKind::Control(RunControl::CommandReceived { command }) => *command == ControlCommand::Resume,
        EventKind::Lifecycle(LifecycleEvent::Recovered { orders, .. }) => {
            ControlCommand::last_pause_request(orders) == Some(false)
        }
        _ => false,
    };
    let is_cancel = matches!(kind, EventKind::Control(RunControl::CommandReceived { command: ControlCommand::Cancel }));
    let (next, effects) = step(state, event);
    driver.is_cancelled |= is_cancel && before.run_end().is_none();
    let is_paused = matches!(before.phase, LoopPhase::Paused { .. });
    assert!(!is_paused || is_resume || !effects.iter().any(is_starting_work), "only a resume ends a pause");
    assert!(!is_paused || next.worked.total_ms() == before.worked.total_ms() || is_resume, "a pause uses no run time");
    effects.iter().for_each(|effect| driver.perform_effect(effect, &policy));
    assert!(next.limits.agent_waited_ms <= policy.rate_limits.max_agent_wait_ms, "waits of agents are bounded");
    assert!(next.limits.waited_ms <= policy.rate_limits.max_wait_ms, "waiting is bounded");
    assert!(!is_volatile || next == before, "a volatile event leaves the state unchanged");
    next
}

/// Continues a run that has ended, and resumes it if that is possible.
fn continue_walk(
    state: LoopState,
    driver: &mut SimulatedDriver,
    clocks: ClockReadings,
    continuation: Continuation,
) -> LoopState {
    if state.can_resume() {
        return state;
    }
    let outcome = state.run_end().map(|ended| ended.outcome);
    driver.finish_count = 0;
    let continued = EventKind::Lifecycle(LifecycleEvent::Continued { continuation });
    let state = play_event(state, driver, clocks.event(continued, PlanAvailability::Available));
    if !state.can_resume() {
        driver.finish_count = 1;
        return state;
    }
    let is_final = matches!(outcome, Some(Outcome::Completed | Outcome::Failed | Outcome::Cancelled));
    assert!(!is_final, "only a run that reached a limit or is blocked is continued");
    let recovered = EventKind::Lifecycle(LifecycleEvent::Recovered { changed: Vec::new(), orders: Vec::new() });
    play_event(state, driver, clocks.event(recovered, PlanAvailability::Available))
}

/// Plays a walk. Events of agents and checks that are not running occur too, as late events.
pub(super) fn run_walk(policy: Policy, events: Vec<DriverEvent>) -> (LoopState, SimulatedDriver) {
    let mut driver = SimulatedDriver { max_iterations: policy.max_iterations, ..SimulatedDriver::default() };
    let mut state = LoopState::new(policy);
    let mut offset = 0;
    for (index, driver_event) in events.into_iter().enumerate() {
        let at = UnixMillis(i64::try_from(index).unwrap_or(0) * 1_000);
        let clocks = ClockReadings { at, wall_clock: UnixMillis(at.0 + offset) };
        state = match driver_event {
            DriverEvent::ClockJump(jump) => {
                offset += jump;
                continue;
            }
            DriverEvent::Abandonment => {
                driver.kill_everything(&state);
                let event = clocks.event(
                    EventKind::Lifecycle(LifecycleEvent::Abandoned { cause: CancelCause::Command }),
                    PlanAvailability::Available,
                );
                let state = play_event(state, &mut driver, event);
                assert!(!state.can_resume(), "an abandoned run cannot be resumed");
                state
            }
            DriverEvent::Continuation(continuation) => continue_walk(state, &mut driver, clocks, continuation),
            DriverEvent::Event(kind, availability) => play_event(state, &mut driver, clocks.event(kind, availability)),
            DriverEvent::Crash(unstored, commands) => {
                if let Some(kind) = unstored {
                    driver.observe_event(&kind);
                    let _ = step(state.clone(), clocks.event(kind, PlanAvailability::Available));
                }
                driver.kill_everything(&state);
                let recovered =
                    EventKind::Lifecycle(LifecycleEvent::Recovered { changed: Vec::new(), orders: commands });
                play_event(state, &mut driver, clocks.event(recovered, PlanAvailability::Available))
            }
        };
        let stored = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<LoopState>(&stored).unwrap(), state);
        assert_eq!(journal::check_facts(&driver.journal), Ok(()), "{:?}", driver.journal);
    }
    (state, driver)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: L1, L2, L6, L8, L10, L11, L13, L17, L19, V8, V9
    // fault: 1, 2, 3, 4, 5
    #[test]
    fn the_invariants_hold_on_random_walks(
        events in prop::collection::vec(any_driver_event(), 0..60),
        max in 1..4_u32,
        checks in any::<bool>(),
        context in prop_oneof![Just(ContextMode::Fresh), Just(ContextMode::Continue)],
        agents in 1..4_usize,
        prepared_at_once in any::<bool>(),
        budget in any_budget(),
        parks in any::<bool>(),
    ) {
        let policy = if checks { policy_with_checks(max) } else { Policy::new(max) };
        let agents = (0..agents).map(|agent| format!("agent-{agent}")).collect();
        let parking = ParkingPolicy { is_possible: parks, after_ms: 60_000, max_wait_ms: 300_000 };
        let rate_limits = RateLimitPolicy { max_wait_ms: 150_000, max_agent_wait_ms: 150_000, agents, parking };
        let policy = Policy { context, rate_limits, budget, ..policy };
        let mut all = Vec::from([DriverEvent::Event(run_started(policy.proof), PlanAvailability::Available)]);
        if checks && prepared_at_once {
            all.push(DriverEvent::Event(prepared_event(Verdict::Rejected), PlanAvailability::Available));
        }
        all.extend(events);
        let (state, driver) = run_walk(policy, all);
        prop_assert!(driver.finish_count <= 1);
        prop_assert_eq!(state.run_end().is_some(), driver.finish_count == 1);
        let started = driver.iteration_numbers(begun_iteration);
        let numbers: Vec<u32> = (1..=u32::try_from(started.len()).unwrap_or(0)).collect();
        prop_assert_eq!(&started, &numbers, "I1: no gap in iteration numbers");
        prop_assert!(started.len() <= driver.max_iterations as usize);
        if !state.can_resume() {
            prop_assert_eq!(&ended_iterations(&driver.journal), &numbers, "I1: each iteration ends exactly once");
        }
    }
}
