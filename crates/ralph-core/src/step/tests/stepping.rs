//! Tests of runs that wait for their caller after each iteration, as the loops of workflows do.
use alloc::string::ToString;
use alloc::vec::Vec;

use super::builders::{LoopScenario, attempt_key, quiet_report};
use crate::event::{EventKind, LifecycleEvent};
use crate::loop_state::LoopPhase;
use crate::outcome::Outcome;
use crate::policy::{IterationStepping, Policy};

fn stepping_policy(max_iterations: u32) -> Policy {
    Policy { stepping: IterationStepping::OneByOne, stall_after: 3, ..Policy::new(max_iterations) }
}

// spec: W4
#[test]
fn a_stepped_run_waits_for_its_caller_after_each_iteration_and_keeps_its_counts() {
    let scene = LoopScenario::start_run(stepping_policy(3)).end_attempt(1, 1, quiet_report());
    assert!(matches!(scene.state.phase, LoopPhase::Interrupted { .. }), "{:?}", scene.state.phase);
    assert_eq!(scene.started_attempt(), None);
    let stall = scene.state.stall.clone();
    let recovered = EventKind::Lifecycle(LifecycleEvent::Recovered { changed: Vec::new(), orders: Vec::new() });
    let scene = scene.play_event(recovered);
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    assert_eq!(scene.state.stall, stall);
}

// spec: W4
#[test]
fn a_stepped_run_that_is_closed_has_ended_for_good() {
    let closed = EventKind::Lifecycle(LifecycleEvent::Closed { reason: "`make` exited with 0".to_string() });
    let scene =
        LoopScenario::start_run(stepping_policy(3)).end_attempt(1, 1, quiet_report()).play_event(closed.clone());
    let ended = scene.state.run_end().unwrap();
    assert_eq!((ended.outcome, ended.exit_code), (Outcome::Exhausted, 0));
    assert!(!scene.state.can_resume());
    let running = LoopScenario::start_run(stepping_policy(3)).play_event(closed);
    assert!(matches!(running.state.phase, LoopPhase::Working { .. }), "only a run that waits is closed");
}

// spec: W4
#[test]
fn a_stepped_run_ends_at_its_limit_as_every_run() {
    let scene = LoopScenario::start_run(stepping_policy(1)).end_attempt(1, 1, quiet_report());
    assert_eq!(scene.state.run_end().unwrap().outcome, Outcome::Exhausted);
    assert!(!scene.state.can_resume());
}
