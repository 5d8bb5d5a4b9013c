//! Random walks: whatever happens in whatever order, the invariants of the machine hold.
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::scenes::{
    claims, claims_but_contradicts, crashes, evidence, in_session, key, lost_session, prepared, quiet,
    refused, repeating, says_blocked, troubled, with_checks,
};
use super::step;
use crate::attempt::{AttemptReport, ErrorKind, Spend};
use crate::budget::{Budget, UnknownCost};
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, Ground, Millis, StopSignal, Timer};
use crate::evidence::Verdict;
use crate::fact::{Fact, IterationStatus};
use crate::journal;
use crate::order::{Order, PauseWhen};
use crate::outcome::Outcome;
use crate::policy::{Context, Policy, Proof, RateLimits};
use crate::prompt::PromptPlan;
use crate::state::{Loop, Phase};

fn any_key() -> impl Strategy<Value = AttemptKey> {
    (1..4_u32, 1..4_u32).prop_map(|(iteration, attempt)| key(iteration, attempt))
}

fn cents_spent(cents: u64) -> Spend {
    Spend { cost_micros: Some(cents * 10_000), ..Spend::default() }
}

fn any_timer() -> impl Strategy<Value = Timer> {
    (any_key(), 0..10).prop_map(|(key, which)| match which {
        0 => Timer::Iteration { key },
        1 => Timer::Silence { key },
        2 => Timer::AfterResult { key },
        3 => Timer::Repeating { key },
        4 => Timer::Handshake { key },
        5 | 6 => Timer::Limit { key },
        7 => Timer::Run,
        _ => Timer::Retry { key },
    })
}

fn any_budget() -> impl Strategy<Value = Budget> {
    let unknown_cost = prop_oneof![3 => Just(UnknownCost::Bear), 1 => Just(UnknownCost::Refuse)];
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

fn any_order() -> impl Strategy<Value = Order> {
    prop_oneof![
        1 => Just(Order::Cancel),
        3 => Just(Order::Pause { when: PauseWhen::Idle }),
        3 => Just(Order::Pause { when: PauseWhen::Now }),
        5 => Just(Order::Resume),
        2 => "[a-c]".prop_map(|words| Order::Guide { words }),
    ]
}

/// Events with keys that are often, but not always, those of the attempt in progress.
fn any_event() -> impl Strategy<Value = EventKind> {
    let reports = prop_oneof![
        Just(quiet()),
        (0..200_u64).prop_map(|cents| AttemptReport { spend: cents_spent(cents), ..quiet() }),
        Just(claims()),
        Just(claims_but_contradicts()),
        Just(says_blocked("x")),
        Just(crashes()),
        Just(troubled(ErrorKind::Auth)),
        Just(troubled(ErrorKind::Network)),
        Just(in_session("s1", troubled(ErrorKind::Context))),
        Just(in_session("s1", quiet())),
        Just(in_session("s2", claims())),
        Just(lost_session()),
        Just(repeating(ErrorKind::Network)),
        prop_oneof![Just(None), Just(Some(i64::MAX)), (0..90_000_i64).prop_map(Some)]
            .prop_map(|reset| in_session("s3", refused(reset))),
    ];
    let verdicts = prop_oneof![
        2 => Just(Verdict::Accepted),
        2 => Just(Verdict::Rejected),
        1 => Just(Verdict::CouldNotEvaluate)
    ];
    prop_oneof![
        1 => Just(EventKind::Started),
        2 => verdicts.clone().prop_map(prepared),
        8 => (any_key(), reports).prop_map(|(key, report)| EventKind::AttemptEnded { key, report: report.into() }),
        1 => any_key().prop_map(|key| EventKind::ResultSeen { key }),
        1 => any_key().prop_map(|key| EventKind::SpokeAgain { key }),
        1 => any_key().prop_map(|key| EventKind::Repeating { key }),
        1 => any_key().prop_map(|key| EventKind::GotOn { key }),
        1 => any_key().prop_map(|key| EventKind::HandshakeBegan { key }),
        1 => any_key().prop_map(|key| EventKind::HandshakeDone { key }),
        2 => (any_key(), 0..200_u64).prop_map(|(key, cents)| EventKind::Overspent { key, spend: cents_spent(cents) }),
        5 => (any_key(), verdicts)
            .prop_map(|(key, verdict)| EventKind::Verified { key, evidence: evidence(verdict) }),
        4 => any_timer().prop_map(|timer| EventKind::TimerFired { timer }),
        1 => Just(EventKind::Interrupted { signal: StopSignal::Int }),
        4 => any_order().prop_map(|order| EventKind::Ordered { order }),
        1 => Just(EventKind::Broken { what: "gone".into() }),
        1 => Just(EventKind::Faulted { key: AttemptKey::PREPARATION, what: "oh".into() }),
        1 => any_key().prop_map(|key| EventKind::Faulted { key, what: "oh".into() }),
    ]
}

/// What happens to a driver.
#[derive(Debug, Clone)]
enum Happening {
    Event(EventKind, Ground),
    /// It dies between two events, or before it stored what it decided upon this one; and this is asked for then.
    Death(Option<EventKind>, Vec<Order>),
    /// It dies, and somebody cancels what it left.
    Abandonment,
    /// Somebody sets the clock on the wall, or the machine sleeps.
    Clock(i64),
}

fn any_happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        20 => (any_event(), any_ground()).prop_map(|(kind, ground)| Happening::Event(kind, ground)),
        2 => Just(Happening::Death(None, Vec::new())),
        2 => (any_event(), prop::collection::vec(any_order(), 0..2))
            .prop_map(|(kind, orders)| Happening::Death(Some(kind), orders)),
        1 => Just(Happening::Abandonment),
        1 => (-90_000..90_000_i64).prop_map(Happening::Clock),
    ]
}

fn any_ground() -> impl Strategy<Value = Ground> {
    prop_oneof![19 => Just(Ground::Firm), 1 => Just(Ground::NoPlan)]
}

/// What the world outside looks like while effects are performed.
#[derive(Default)]
struct World {
    alive: Option<AttemptKey>,
    /// The agent at work, and the one whose session was last reported.
    agent: u32,
    knows_session: Option<u32>,
    checking: Option<AttemptKey>,
    preparing: bool,
    finishes: u32,
    accepted_last: bool,
    /// Somebody cancelled the run.
    cancelled: bool,
    /// What people said, and no prompt has told yet.
    untold: Vec<String>,
    journal: Vec<Fact>,
}

impl World {
    /// Hears the event as the driver would: an agent or check that ended is gone.
    fn hear(&mut self, kind: &EventKind) -> bool {
        match kind {
            EventKind::AttemptEnded { key, report } => {
                let heard = self.alive.take_if(|alive| alive == key).is_some();
                if heard && report.session.is_some() {
                    self.knows_session = Some(self.agent);
                }
                heard
            }
            EventKind::Verified { key, evidence } => {
                let heard = self.checking.take_if(|checking| checking == key).is_some();
                self.accepted_last = heard && evidence.verdict() == Verdict::Accepted;
                heard
            }
            EventKind::Prepared { .. } => std::mem::take(&mut self.preparing),
            EventKind::Faulted { key: AttemptKey::PREPARATION, .. } => std::mem::take(&mut self.preparing),
            EventKind::Faulted { key, .. } => {
                let agent = self.alive.take_if(|alive| alive == key);
                agent.or(self.checking.take_if(|checking| checking == key)).is_some()
            }
            _ => true,
        }
    }

    fn perform(&mut self, effect: &Effect, policy: &Policy) {
        assert_eq!(self.finishes, 0, "silence after the finish, but {effect:?}");
        assert!(!self.cancelled || !is_work(effect), "nothing is begun for who cancelled: {effect:?}");
        match effect {
            Effect::StartAgent { key, plan, session, agent, guidance, .. } => {
                assert!(guidance.ends_with(&self.untold), "what was said stands in the next prompt");
                self.untold.clear();
                let agents = policy.rate_limits.agents.len().max(1);
                assert!((*agent as usize) < agents, "an agent that there is");
                let goes_on = session.is_some();
                assert!(!goes_on || policy.context == Context::Continue, "fresh means fresh");
                assert!(!goes_on || self.knows_session == Some(*agent), "a session of its own");
                assert_eq!(
                    matches!(plan, PromptPlan::Continuation { .. }),
                    goes_on,
                    "words that it remembers"
                );
                self.agent = *agent;
                assert!(!self.numbers(over).contains(&key.iteration), "I2: {key:?} is over");
                assert_eq!(self.alive, None, "at most one agent alive");
                assert_eq!(self.checking, None, "no agent while checks run");
                assert!(!self.preparing, "no agent before the run is prepared");
                self.alive = Some(*key);
            }
            Effect::RunChecks { key, .. } => self.checking = Some(*key),
            Effect::Prepare { .. } => {
                assert!(self.numbers(begun).is_empty(), "nothing is prepared after the first iteration");
                self.preparing = true;
            }
            Effect::StopAgent { key } | Effect::KillAgent { key } => assert_eq!(self.alive, Some(*key)),
            Effect::Finish => {
                assert_eq!(self.alive, None, "no agent outlives the run");
                self.finishes += 1;
            }
            Effect::Record { fact } => self.record(fact, policy.proof),
            Effect::StopChecks { .. } | Effect::StartTimer { .. } | Effect::CancelTimer { .. } => {}
        }
    }

    fn record(&mut self, fact: &Fact, proof: Proof) {
        self.journal.push(fact.clone());
        if let Fact::RunGuided { words } = fact {
            self.untold.push(words.clone());
        }
        if let Fact::RunFinished { outcome: Outcome::Completed, .. } = fact
            && proof == Proof::Checks
        {
            assert!(self.accepted_last, "completed only upon accepted evidence");
        }
    }

    /// Everything dies with the driver. A run that a signal had ended may go on.
    fn die(&mut self, state: &Loop) {
        (self.alive, self.checking, self.preparing) = (None, None, false);
        if state.can_go_on() {
            self.finishes = 0;
        }
    }

    fn numbers(&self, of: fn(&Fact) -> Option<u32>) -> Vec<u32> {
        self.journal.iter().filter_map(of).collect()
    }
}

/// Tells whether an effect puts somebody to work.
fn is_work(effect: &Effect) -> bool {
    matches!(effect, Effect::StartAgent { .. } | Effect::RunChecks { .. } | Effect::Prepare { .. })
}

fn begun(fact: &Fact) -> Option<u32> {
    match fact {
        Fact::IterationStarted { iteration } => Some(*iteration),
        _ => None,
    }
}

/// Returns the iterations that have ended, and not only until the run was resumed.
fn ended(journal: &[Fact]) -> Vec<u32> {
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
fn over(fact: &Fact) -> Option<u32> {
    match fact {
        Fact::IterationEnded { iteration, status, .. } if *status != IterationStatus::Interrupted => {
            Some(*iteration)
        }
        _ => None,
    }
}

fn opening(proof: Proof) -> Fact {
    let checks = match proof {
        Proof::ClaimAlone => Vec::new(),
        Proof::Checks => Vec::from(["make".into()]),
    };
    Fact::RunStarted { kind: "run".into(), agent: "x".into(), promise: "X".into(), max_iterations: 9, checks }
}

/// The driver's clock and the one on the wall.
type Clocks = (Millis, Millis);

/// Decides, records, acts.
fn play(state: Loop, world: &mut World, (kind, ground, (at, wall)): (EventKind, Ground, Clocks)) -> Loop {
    let volatile = kind.is_volatile();
    let before = state.clone();
    let policy = state.policy.clone();
    world.hear(&kind);
    let is_resume = matches!(kind, EventKind::Ordered { order: Order::Resume });
    let is_cancel = matches!(kind, EventKind::Ordered { order: Order::Cancel });
    let (next, effects) = step(state, Event { at, wall, dice: 0, ground, others: Vec::new(), kind });
    world.cancelled |= is_cancel && before.ended().is_none();
    let is_paused = matches!(before.phase, Phase::Paused { .. });
    assert!(!is_paused || is_resume || !effects.iter().any(is_work), "a pause ends when somebody says so");
    assert!(!is_paused || next.worked.ms() == before.worked.ms() || is_resume, "a pause takes no time");
    effects.iter().for_each(|effect| world.perform(effect, &policy));
    assert!(next.limits.waited_ms <= policy.rate_limits.max_wait_ms, "waiting is bounded");
    assert!(!volatile || next == before, "an event that is not stored leaves the loop as it is");
    next
}

/// Plays a walk; events about agents and checks that are not there happen too, but are late ones.
fn walk(policy: Policy, happenings: Vec<Happening>) -> (Loop, World) {
    let mut world = World { journal: Vec::from([opening(policy.proof)]), ..World::default() };
    let mut state = Loop::new(policy);
    let mut offset = 0;
    for (index, happening) in happenings.into_iter().enumerate() {
        let at = Millis(i64::try_from(index).unwrap_or(0) * 1_000);
        let wall = Millis(at.0 + offset);
        state = match happening {
            Happening::Clock(jump) => {
                offset += jump;
                continue;
            }
            Happening::Abandonment => {
                world.die(&state);
                let state = play(state, &mut world, (EventKind::Abandoned, Ground::Firm, (at, wall)));
                assert!(!state.can_go_on(), "who is abandoned does not come back");
                state
            }
            Happening::Event(kind, ground) => play(state, &mut world, (kind, ground, (at, wall))),
            Happening::Death(unstored, orders) => {
                if let Some(kind) = unstored {
                    world.hear(&kind);
                    let _ = step(
                        state.clone(),
                        Event { at, wall, dice: 0, ground: Ground::Firm, others: Vec::new(), kind },
                    );
                }
                world.die(&state);
                let recovered = EventKind::Recovered { changed: Vec::new(), orders };
                play(state, &mut world, (recovered, Ground::Firm, (at, wall)))
            }
        };
        let stored = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<Loop>(&stored).unwrap(), state);
        assert_eq!(journal::check(&world.journal), Ok(()), "{:?}", world.journal);
    }
    (state, world)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: L1, L2, L6, L8, L10, L11, L13, V8, V9
    // fault: 1, 2, 3, 4, 5
    #[test]
    fn the_invariants_hold_on_random_walks(
        happenings in prop::collection::vec(any_happening(), 0..60),
        max in 1..4_u32,
        checks in any::<bool>(),
        context in prop_oneof![Just(Context::Fresh), Just(Context::Continue)],
        agents in 1..4_usize,
        prepared_at_once in any::<bool>(),
        budget in any_budget(),
    ) {
        let policy = if checks { with_checks(max) } else { Policy::new(max) };
        let agents = (0..agents).map(|agent| format!("agent-{agent}")).collect();
        let rate_limits = RateLimits { max_wait_ms: 150_000, agents };
        let policy = Policy { context, rate_limits, budget, ..policy };
        let mut all = Vec::from([Happening::Event(EventKind::Started, Ground::Firm)]);
        if checks && prepared_at_once {
            all.push(Happening::Event(prepared(Verdict::Rejected), Ground::Firm));
        }
        all.extend(happenings);
        let (state, world) = walk(policy, all);
        prop_assert!(world.finishes <= 1);
        prop_assert_eq!(state.ended().is_some(), world.finishes == 1);
        let started = world.numbers(begun);
        let numbers: Vec<u32> = (1..=u32::try_from(started.len()).unwrap_or(0)).collect();
        prop_assert_eq!(&started, &numbers, "I1: no gap in iteration numbers");
        prop_assert!(started.len() <= max as usize);
        if !state.can_go_on() {
            prop_assert_eq!(&ended(&world.journal), &numbers, "I1: each iteration ends exactly once");
        }
    }
}
