//! Random walks: whatever happens in whatever order, the invariants of the machine hold.
use alloc::vec::Vec;

use proptest::prelude::*;

use super::scenes::{
    claims, claims_but_contradicts, crashes, evidence, key, quiet, says_blocked, troubled, with_checks,
};
use super::step;
use crate::attempt::ErrorKind;
use crate::effect::Effect;
use crate::event::{AttemptKey, Event, EventKind, Ground, Millis, StopSignal, Timer};
use crate::evidence::Verdict;
use crate::fact::{Fact, IterationStatus};
use crate::journal;
use crate::outcome::Outcome;
use crate::policy::{Policy, Proof};
use crate::state::Loop;

fn any_key() -> impl Strategy<Value = AttemptKey> {
    (1..4_u32, 1..4_u32).prop_map(|(iteration, attempt)| key(iteration, attempt))
}

fn any_timer() -> impl Strategy<Value = Timer> {
    (any_key(), 0..4).prop_map(|(key, which)| match which {
        0 => Timer::Iteration { key },
        1 => Timer::Silence { key },
        2 => Timer::AfterResult { key },
        _ => Timer::Retry { key },
    })
}

/// Events with keys that are often, but not always, those of the attempt in progress.
fn any_event() -> impl Strategy<Value = EventKind> {
    let reports = prop_oneof![
        Just(quiet()),
        Just(claims()),
        Just(claims_but_contradicts()),
        Just(says_blocked("x")),
        Just(crashes()),
        Just(troubled(ErrorKind::Auth)),
        Just(troubled(ErrorKind::Network)),
    ];
    let verdicts =
        prop_oneof![Just(Verdict::Accepted), Just(Verdict::Rejected), Just(Verdict::CouldNotEvaluate)];
    prop_oneof![
        1 => Just(EventKind::Started),
        8 => (any_key(), reports).prop_map(|(key, report)| EventKind::AttemptEnded { key, report: report.into() }),
        1 => any_key().prop_map(|key| EventKind::ResultSeen { key }),
        1 => any_key().prop_map(|key| EventKind::SpokeAgain { key }),
        5 => (any_key(), verdicts)
            .prop_map(|(key, verdict)| EventKind::Verified { key, evidence: evidence(verdict) }),
        4 => any_timer().prop_map(|timer| EventKind::TimerFired { timer }),
        1 => Just(EventKind::Interrupted { signal: StopSignal::Int }),
        1 => Just(EventKind::Broken { what: "gone".into() }),
        1 => any_key().prop_map(|key| EventKind::Faulted { key, what: "oh".into() }),
    ]
}

/// What happens to a driver.
#[derive(Debug, Clone)]
enum Happening {
    Event(EventKind, Ground),
    /// It dies between two events, or before it stored what it decided upon this one.
    Death(Option<EventKind>),
}

fn any_happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => (any_event(), any_ground()).prop_map(|(kind, ground)| Happening::Event(kind, ground)),
        1 => Just(Happening::Death(None)),
        1 => any_event().prop_map(|kind| Happening::Death(Some(kind))),
    ]
}

fn any_ground() -> impl Strategy<Value = Ground> {
    prop_oneof![19 => Just(Ground::Firm), 1 => Just(Ground::NoPlan)]
}

/// What the world outside looks like while effects are performed.
#[derive(Default)]
struct World {
    alive: Option<AttemptKey>,
    checking: Option<AttemptKey>,
    finishes: u32,
    accepted_last: bool,
    journal: Vec<Fact>,
}

impl World {
    /// Hears the event as the driver would: an agent or check that ended is gone.
    fn hear(&mut self, kind: &EventKind) -> bool {
        match kind {
            EventKind::AttemptEnded { key, .. } => self.alive.take_if(|alive| alive == key).is_some(),
            EventKind::Verified { key, evidence } => {
                let heard = self.checking.take_if(|checking| checking == key).is_some();
                self.accepted_last = heard && evidence.verdict() == Verdict::Accepted;
                heard
            }
            EventKind::Faulted { key, .. } => {
                let agent = self.alive.take_if(|alive| alive == key);
                agent.or(self.checking.take_if(|checking| checking == key)).is_some()
            }
            _ => true,
        }
    }

    fn perform(&mut self, effect: &Effect, proof: Proof) {
        assert_eq!(self.finishes, 0, "silence after the finish, but {effect:?}");
        match effect {
            Effect::StartAgent { key, .. } => {
                assert!(!self.numbers(over).contains(&key.iteration), "I2: {key:?} is over");
                assert_eq!(self.alive, None, "at most one agent alive");
                assert_eq!(self.checking, None, "no agent while checks run");
                self.alive = Some(*key);
            }
            Effect::RunChecks { key, .. } => self.checking = Some(*key),
            Effect::StopAgent { key } | Effect::KillAgent { key } => assert_eq!(self.alive, Some(*key)),
            Effect::Finish => {
                assert_eq!(self.alive, None, "no agent outlives the run");
                self.finishes += 1;
            }
            Effect::Record { fact } => self.record(fact, proof),
            Effect::StopChecks { .. } | Effect::StartTimer { .. } | Effect::CancelTimer { .. } => {}
        }
    }

    fn record(&mut self, fact: &Fact, proof: Proof) {
        self.journal.push(fact.clone());
        if let Fact::RunFinished { outcome: Outcome::Completed, .. } = fact
            && proof == Proof::Checks
        {
            assert!(self.accepted_last, "completed only upon accepted evidence");
        }
    }

    /// Everything dies with the driver. A run that a signal had ended may go on.
    fn die(&mut self, state: &Loop) {
        (self.alive, self.checking) = (None, None);
        if state.can_go_on() {
            self.finishes = 0;
        }
    }

    fn numbers(&self, of: fn(&Fact) -> Option<u32>) -> Vec<u32> {
        self.journal.iter().filter_map(of).collect()
    }
}

fn begun(fact: &Fact) -> Option<u32> {
    match fact {
        Fact::IterationStarted { iteration } => Some(*iteration),
        _ => None,
    }
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

/// Decides, records, acts.
fn play(state: Loop, world: &mut World, (kind, ground, at): (EventKind, Ground, Millis)) -> Loop {
    let volatile = kind.is_volatile();
    let before = state.clone();
    let proof = state.policy.proof;
    world.hear(&kind);
    let (next, effects) = step(state, Event { at, dice: 0, ground, kind });
    effects.iter().for_each(|effect| world.perform(effect, proof));
    assert!(!volatile || next == before, "an event that is not stored leaves the loop as it is");
    next
}

/// Plays a walk; events about agents and checks that are not there happen too, but are late ones.
fn walk(policy: Policy, happenings: Vec<Happening>) -> (Loop, World) {
    let mut world = World { journal: Vec::from([opening(policy.proof)]), ..World::default() };
    let mut state = Loop::new(policy);
    for (index, happening) in happenings.into_iter().enumerate() {
        let at = Millis(i64::try_from(index).unwrap_or(0) * 1_000);
        state = match happening {
            Happening::Event(kind, ground) => play(state, &mut world, (kind, ground, at)),
            Happening::Death(unstored) => {
                if let Some(kind) = unstored {
                    world.hear(&kind);
                    let _ = step(state.clone(), Event { at, dice: 0, ground: Ground::Firm, kind });
                }
                world.die(&state);
                play(state, &mut world, (EventKind::Recovered { changed: Vec::new() }, Ground::Firm, at))
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

    // spec: L1, L2, L13
    // fault: 1, 2, 3, 4, 5
    #[test]
    fn the_invariants_hold_on_random_walks(
        happenings in prop::collection::vec(any_happening(), 0..60),
        max in 1..4_u32,
        checks in any::<bool>(),
    ) {
        let policy = if checks { with_checks(max) } else { Policy::new(max) };
        let mut all = Vec::from([Happening::Event(EventKind::Started, Ground::Firm)]);
        all.extend(happenings);
        let (state, world) = walk(policy, all);
        prop_assert!(world.finishes <= 1);
        prop_assert_eq!(state.ended().is_some(), world.finishes == 1);
        let started = world.numbers(begun);
        let numbers: Vec<u32> = (1..=u32::try_from(started.len()).unwrap_or(0)).collect();
        prop_assert_eq!(&started, &numbers, "I1: no gap in iteration numbers");
        prop_assert!(started.len() <= max as usize);
        if !state.can_go_on() {
            prop_assert_eq!(&world.numbers(over), &numbers, "I1: each iteration ends exactly once");
        }
    }
}
