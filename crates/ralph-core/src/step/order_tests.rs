//! One test per sentence about cancel, pause, resume and guidance from another process.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::scenes::{Scene, claims, crashes, key, prepared, quiet, refused, with_checks};
use crate::attempt::Ending;
use crate::budget::Budget;
use crate::effect::Effect;
use crate::event::{AttemptKey, EventKind, StopSignal, Timer};
use crate::evidence::Verdict;
use crate::fact::{Fact, NextStep};
use crate::order::{Order, PauseWhen};
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::state::Phase;

impl Scene {
    fn ordered(self, order: Order) -> Self {
        self.on(EventKind::Ordered { order })
    }

    fn cancel(self) -> Self {
        self.ordered(Order::Cancel)
    }

    fn pause(self, when: PauseWhen) -> Self {
        self.ordered(Order::Pause { when })
    }

    fn resume(self) -> Self {
        self.ordered(Order::Resume)
    }

    fn guide(self, words: &str) -> Self {
        self.ordered(Order::Guide { words: words.to_string() })
    }

    fn is_paused(&self) -> bool {
        matches!(self.phase(), Phase::Paused { .. })
    }

    fn guidance(&self) -> Option<Vec<String>> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartAgent { guidance, .. } => Some(guidance.clone()),
            _ => None,
        })
    }
}

fn at_work() -> Scene {
    Scene::started(Policy::new(3))
}

fn in_checks() -> Scene {
    Scene::started(with_checks(3)).ended(1, 1, claims())
}

fn in_preparation() -> Scene {
    Scene::new(with_checks(3)).on(EventKind::Started)
}

fn before_a_retry() -> Scene {
    at_work().ended(1, 1, crashes())
}

fn rate_limited() -> Scene {
    at_work().ended(1, 1, refused(Some(3_600_000)))
}

fn gone() -> crate::attempt::AttemptReport {
    super::scenes::ends(Ending::Signalled { signal: 15 })
}

// spec: L11, L2
#[test]
fn a_cancel_stops_the_agent_politely_and_ends_the_run_when_it_is_gone() {
    let scene = at_work().cancel();
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    assert_eq!((scene.outcome(), scene.fact_names()), (None, Vec::from(["stop.requested"])));
    let scene = scene.ended(1, 1, gone());
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Cancelled), Some(9)));
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "iteration.ended", "run.finished"]);
    assert!(!scene.state.can_go_on());
}

// spec: L11
#[test]
fn a_cancel_kills_the_checks_and_a_claim_that_they_would_have_accepted_counts_no_more() {
    let scene = in_checks().cancel();
    assert!(scene.does(&Effect::StopChecks { key: key(1, 1) }));
    assert_eq!(scene.verified(1, 1, Verdict::Accepted).outcome(), Some(Outcome::Cancelled));
    let scene = in_preparation().cancel();
    assert!(scene.does(&Effect::StopChecks { key: AttemptKey::PREPARATION }));
    assert_eq!(scene.prepared(Verdict::Rejected).outcome(), Some(Outcome::Cancelled));
}

// spec: L11
#[test]
fn where_nobody_is_at_work_a_cancel_ends_the_run_at_once() {
    let between = at_work().pause(PauseWhen::Idle).ended(1, 1, quiet());
    let cut = at_work().pause(PauseWhen::Now).ended(1, 1, gone());
    for scene in [Scene::new(Policy::new(3)), before_a_retry(), rate_limited(), between, cut] {
        let scene = scene.cancel();
        assert_eq!(scene.outcome(), Some(Outcome::Cancelled), "{:?}", scene.phase());
        assert!(scene.does(&Effect::Finish));
    }
}

// spec: L11, L12
#[test]
fn a_second_cancel_changes_nothing_and_a_signal_after_it_kills_at_once() {
    let scene = at_work().cancel();
    let before = scene.state.clone();
    let scene = scene.cancel();
    assert_eq!((&scene.state, scene.effects.len()), (&before, 0));
    assert!(scene.phase().next_signal_kills());
    let scene = scene.signal(StopSignal::Int);
    assert!(scene.does(&Effect::KillAgent { key: key(1, 1) }));
    assert_eq!(scene.ended(1, 1, gone()).outcome(), Some(Outcome::Cancelled));
}

// spec: L11
#[test]
fn a_cancel_outranks_every_other_stop() {
    let timed_out = at_work().fires(Timer::Iteration { key: key(1, 1) });
    let interrupted = at_work().signal(StopSignal::Int);
    let pausing = at_work().pause(PauseWhen::Now);
    for scene in [timed_out, interrupted, pausing] {
        let scene = scene.cancel();
        assert_eq!(scene.fact_names(), ["stop.requested"]);
        assert_eq!(scene.ended(1, 1, gone()).outcome(), Some(Outcome::Cancelled));
    }
    let checks = in_checks().signal(StopSignal::Int).cancel().verified(1, 1, Verdict::Accepted);
    assert_eq!(checks.outcome(), Some(Outcome::Cancelled));
}

// spec: L11, L13
#[test]
fn a_crash_does_not_bring_a_cancelled_run_back() {
    for scene in [at_work().cancel(), in_checks().cancel(), in_preparation().cancel()] {
        let scene = scene.recovers();
        assert_eq!((scene.outcome(), scene.starts()), (Some(Outcome::Cancelled), None));
    }
}

// spec: L11, L13
#[test]
fn what_nobody_drives_any_more_is_cancelled_wherever_it_was() {
    let everywhere = [
        Scene::new(Policy::new(3)),
        in_preparation(),
        in_preparation().signal(StopSignal::Int),
        at_work(),
        at_work().signal(StopSignal::Term),
        before_a_retry(),
        rate_limited(),
        in_checks(),
        in_checks().signal(StopSignal::Int),
        at_work().pause(PauseWhen::Now).ended(1, 1, gone()),
        at_work().signal(StopSignal::Int).ended(1, 1, gone()),
    ];
    for scene in everywhere {
        let scene = scene.on(EventKind::Abandoned);
        assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Cancelled), Some(9)));
        assert!(scene.starts().is_none());
    }
    let done = at_work().ended(1, 1, claims()).on(EventKind::Abandoned);
    assert_eq!(done.outcome(), Some(Outcome::Completed), "what is done stays done");
}

// spec: L11
#[test]
fn a_pause_begins_when_the_iteration_is_over_and_the_next_one_comes_with_the_resume() {
    let scene = at_work().pause(PauseWhen::Idle);
    assert!(scene.effects.is_empty() && matches!(scene.phase(), Phase::Working { .. }));
    let scene = scene.ended(1, 1, quiet());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "iteration.ended", "run.paused"]);
    assert!(scene.is_paused() && scene.starts().is_none());
    let scene = scene.resume();
    assert_eq!(scene.starts(), Some(key(2, 1)));
    assert_eq!(scene.fact_names(), ["run.resumed", "iteration.started", "attempt.started"]);
    assert_eq!(scene.ended(2, 1, quiet()).starts(), Some(key(3, 1)), "a pause is over when it is over");
}

// spec: L11
#[test]
fn a_pause_waits_for_the_verdict_and_an_accepted_claim_ends_the_run_all_the_same() {
    let checked = || in_checks().pause(PauseWhen::Idle);
    assert!(checked().verified(1, 1, Verdict::Rejected).is_paused());
    assert_eq!(checked().verified(1, 1, Verdict::Accepted).outcome(), Some(Outcome::Completed));
}

// spec: L11
#[test]
fn in_a_wait_a_pause_begins_at_once_and_the_rest_of_the_wait_comes_after_it() {
    for (scene, next) in [(before_a_retry(), NextStep::Retry), (rate_limited(), NextStep::Limit)] {
        let scene = scene.pause(PauseWhen::Idle);
        assert!(scene.is_paused());
        let [Fact::RunPaused { iteration: 1, next: found }] = scene.facts()[..] else { panic!("{next:?}") };
        assert_eq!(*found, next);
        let scene = scene.fires(Timer::Retry { key: key(1, 2) }).fires(Timer::Limit { key: key(1, 2) });
        assert!(scene.is_paused(), "no timer ends it");
        assert!(!scene.resume().is_paused());
    }
    let scene = at_work().pause(PauseWhen::Idle).ended(1, 1, crashes());
    assert!(scene.is_paused(), "the attempt failed, and nobody is at work");
    assert_eq!(scene.resume().fires(Timer::Retry { key: key(1, 2) }).starts(), Some(key(1, 2)));
}

// spec: L11
#[test]
fn a_pause_now_stops_the_agent_and_its_work_is_done_again_under_the_same_number() {
    let scene = at_work().pause(PauseWhen::Now);
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    let scene = scene.ended(1, 1, gone());
    assert_eq!(scene.fact_names(), ["attempt.ended", "claim", "run.paused"], "the iteration is not over");
    let scene = scene.resume();
    assert_eq!(scene.starts(), Some(key(1, 2)));
    let scene = scene.ended(1, 2, crashes());
    let first = Effect::StartTimer { timer: Timer::Retry { key: key(1, 3) }, after_ms: 1_000 };
    assert!(scene.does(&first), "it spent no retry");
}

// spec: L11
#[test]
fn a_pause_now_stops_the_checks_and_they_run_again() {
    let scene = in_checks().pause(PauseWhen::Now);
    assert!(scene.does(&Effect::StopChecks { key: key(1, 1) }));
    let scene = scene.verified(1, 1, Verdict::Accepted);
    assert!(scene.is_paused(), "what was cut short proves nothing");
    assert!(scene.resume().does(&Effect::RunChecks { key: key(1, 1), round: 2 }));
    let scene = in_preparation().pause(PauseWhen::Now).on(prepared(Verdict::Rejected));
    assert!(scene.is_paused());
    assert!(scene.resume().effects.iter().any(|effect| matches!(effect, Effect::Prepare { round: 2, .. })));
}

// spec: L11
#[test]
fn a_pause_that_is_taken_back_while_the_agent_stops_is_none() {
    let scene = at_work().pause(PauseWhen::Now).resume().ended(1, 1, gone());
    assert_eq!(scene.starts(), Some(key(1, 2)));
    let scene = at_work().pause(PauseWhen::Idle).resume().ended(1, 1, quiet());
    assert_eq!(scene.starts(), Some(key(2, 1)));
}

// spec: L11, L13
#[test]
fn a_pause_outlives_its_ralph_and_the_one_that_was_about_to_begin_too() {
    let scene = at_work().pause(PauseWhen::Idle).ended(1, 1, quiet()).recovers();
    assert!(scene.is_paused() && scene.starts().is_none());
    assert_eq!(scene.resume().starts(), Some(key(2, 1)));
    let stopping = at_work().pause(PauseWhen::Now).recovers();
    assert!(stopping.is_paused());
    assert_eq!(stopping.resume().starts(), Some(key(1, 2)));
    let wanted = at_work().pause(PauseWhen::Idle).recovers();
    assert_eq!(wanted.starts(), Some(key(1, 2)), "the iteration that was cut short comes first");
    assert!(wanted.ended(1, 2, quiet()).is_paused());
}

// spec: L11, L12
#[test]
fn a_signal_ends_a_paused_run_and_it_goes_on_where_it_was() {
    let scene = at_work().pause(PauseWhen::Idle).ended(1, 1, quiet()).signal(StopSignal::Int);
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Interrupted), Some(130)));
    assert_eq!(scene.recovers().starts(), Some(key(2, 1)));
    let scene = at_work().pause(PauseWhen::Now).signal(StopSignal::Int);
    assert!(!scene.does(&Effect::KillAgent { key: key(1, 1) }), "the first signal asks");
    assert_eq!(scene.ended(1, 1, gone()).outcome(), Some(Outcome::Interrupted));
}

// spec: L11, L8
#[test]
fn the_time_of_a_pause_is_not_time_of_the_run() {
    let budget = Budget { max_duration_ms: Some(60_000), ..Budget::default() };
    let scene = Scene::started(Policy { budget, ..Policy::new(9) });
    let scene = scene.pause(PauseWhen::Idle).ended(1, 1, quiet());
    assert!(scene.does(&Effect::CancelTimer { timer: Timer::Run }));
    let worked = scene.state.worked.ms();
    let scene = scene.at(9_000_000).guide("still here").fires(Timer::Run).resume();
    assert_eq!(scene.state.worked.ms(), worked);
    let left = Effect::StartTimer { timer: Timer::Run, after_ms: 60_000 - worked };
    assert!(scene.does(&left), "{:?}", scene.effects);
}

// spec: L11
#[test]
fn the_limits_outrank_a_pause() {
    let scene = Scene::started(Policy::new(1)).pause(PauseWhen::Idle).ended(1, 1, quiet());
    assert_eq!(scene.outcome(), Some(Outcome::Exhausted));
}

// spec: U3, L4
#[test]
fn what_people_say_stands_in_the_next_prompt_and_in_no_later_one() {
    let scene = at_work().guide("use the old parser").guide("and hurry");
    assert_eq!(scene.fact_names(), ["run.guided"]);
    let scene = scene.ended(1, 1, quiet());
    assert_eq!(scene.guidance().unwrap(), ["use the old parser", "and hurry"]);
    assert!(scene.state.wishes.is_empty());
    assert_eq!(scene.ended(2, 1, quiet()).guidance().unwrap(), Vec::<String>::new());
}

// spec: U3, L5
#[test]
fn a_retry_is_told_what_was_said_before_it_and_all_that_the_first_attempt_was_told() {
    let scene = at_work().guide("one").ended(1, 1, quiet()).guide("two").ended(2, 1, crashes());
    assert_eq!(scene.fires(Timer::Retry { key: key(2, 2) }).guidance().unwrap(), ["one", "two"]);
}

// spec: U3
#[test]
fn what_no_prompt_told_is_known_when_the_loop_is_over() {
    let scene = at_work().guide("one");
    assert!(scene.state.untold().is_empty(), "the next prompt tells it");
    assert_eq!(scene.ended(1, 1, claims()).state.untold(), ["one"]);
}

// spec: U3, L13
#[test]
fn what_was_said_is_not_lost_in_a_crash_or_a_pause() {
    let scene = at_work().guide("one").recovers();
    assert_eq!(scene.guidance().unwrap(), ["one"]);
    let scene = at_work().pause(PauseWhen::Idle).ended(1, 1, quiet()).guide("two").recovers().resume();
    assert_eq!(scene.guidance().unwrap(), ["two"]);
}

// spec: L11
#[test]
fn a_run_that_is_over_hears_nothing_any_more() {
    let over = [at_work().ended(1, 1, claims()), at_work().signal(StopSignal::Int).ended(1, 1, gone())];
    for scene in over {
        let before = scene.state.clone();
        let pause = |when| Order::Pause { when };
        let guide = Order::Guide { words: "x".to_string() };
        let orders = [Order::Cancel, pause(PauseWhen::Idle), pause(PauseWhen::Now), Order::Resume, guide];
        let scene = orders.into_iter().fold(scene, Scene::ordered);
        assert_eq!((scene.state, scene.effects), (before, Vec::new()));
    }
}

// spec: L11, L13, U3
#[test]
fn what_was_asked_while_nobody_drove_the_loop_comes_before_everything_else() {
    let recovers = |scene: Scene, order: Order| {
        scene.on(EventKind::Recovered { changed: Vec::new(), orders: Vec::from([order]) })
    };
    let said = || Order::Guide { words: "mind the gap".to_string() };
    let scene = recovers(at_work(), said());
    assert_eq!(scene.guidance().unwrap(), ["mind the gap"]);
    assert_eq!(scene.fact_names(), ["run.resumed", "run.guided", "attempt.ended", "attempt.started"]);
    let interrupted = || at_work().signal(StopSignal::Int).ended(1, 1, gone());
    let scene = recovers(interrupted(), said());
    assert_eq!(scene.fact_names(), ["run.resumed", "run.guided", "attempt.started"]);
    for scene in [at_work(), interrupted(), in_checks()] {
        let scene = recovers(scene, Order::Cancel);
        assert_eq!((scene.outcome(), scene.starts()), (Some(Outcome::Cancelled), None));
    }
}

// spec: U3, L8
#[test]
fn what_is_said_before_the_start_stands_in_the_first_prompt_and_takes_no_time() {
    let budget = Budget { max_duration_ms: Some(60_000), ..Budget::default() };
    let scene = Scene::new(Policy { budget, ..Policy::new(3) }).at(1_700_000_000_000).guide("one");
    let scene = scene.on(EventKind::Started);
    assert_eq!(scene.guidance().unwrap(), ["one"]);
}
