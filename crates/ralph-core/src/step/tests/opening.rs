//! The first and the last facts of a run come from the rules, in this order.
use alloc::string::ToString;
use alloc::vec::Vec;

use super::builders::{
    LoopScenario, attempt_key, claiming_report, evidence_with_verdict, policy_with_checks, quiet_report,
    sample_opening, sample_snapshot, started_event,
};
use crate::control_command::{ControlCommand, PauseTiming};
use crate::effect::{Effect, ReceiptSnapshot};
use crate::event::{EventKind, LifecycleEvent, WorkEvent};
use crate::evidence::Verdict;
use crate::fact::Fact;
use crate::outcome::Outcome;
use crate::policy::Policy;

/// Starts a run for which these commands already wait.
fn start_with(orders: &[ControlCommand]) -> LoopScenario {
    let started = LifecycleEvent::Started { opening: sample_opening(), orders: orders.to_vec() };
    LoopScenario::new(Policy::new(3)).play_event(EventKind::Lifecycle(started))
}

/// Returns the names of the facts and the place of the receipt among them.
fn journal_order(scene: &LoopScenario) -> Vec<&'static str> {
    let name = |effect: &Effect| match effect.recorded_fact() {
        Some(fact) => Some(fact.name()),
        None => matches!(effect, Effect::RecordReceipt { .. }).then_some("receipt"),
    };
    scene.effects.iter().filter_map(name).collect()
}

// finding: N61
#[test]
fn the_first_fact_of_a_run_describes_it() {
    let scene = LoopScenario::new(Policy::new(3)).play_event(started_event());
    let facts = scene.recorded_facts();
    let Some(Fact::RunStarted { kind, agent, promise, max_iterations, checks, permissions }) = facts.first() else {
        panic!("{facts:?}")
    };
    assert_eq!((kind.as_str(), agent.as_str(), promise.as_str()), ("run", "one", "DONE"));
    assert_eq!(permissions.as_deref(), Some("may read"));
    assert_eq!((*max_iterations, checks.as_slice()), (3, ["make test".to_string()].as_slice()));
    assert_eq!(scene.fact_names(), ["run.started", "iteration.started", "attempt.started"]);
}

// finding: N61
#[test]
fn commands_sent_before_the_start_apply_after_its_fact_and_before_the_first_iteration() {
    let guided = start_with(&[ControlCommand::Guide { words: "use tabs".to_string() }]);
    assert_eq!(guided.fact_names(), ["run.started", "run.guided", "iteration.started", "attempt.started"]);
    let cancelled = start_with(&[ControlCommand::Cancel]);
    assert_eq!(cancelled.fact_names(), ["run.started", "run.finished"]);
    assert_eq!(cancelled.run_outcome(), Some(Outcome::Cancelled));
    let paused = start_with(&[ControlCommand::Pause { when: PauseTiming::Now }]);
    assert_eq!(paused.fact_names(), ["run.started", "run.paused"]);
    assert_eq!(paused.started_attempt(), None);
}

// finding: N61
// spec: V14
#[test]
fn the_receipt_is_recorded_between_the_end_of_the_iteration_and_the_end_of_the_run() {
    let verified = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report()).deliver_verdict(
        1,
        1,
        Verdict::Accepted,
    );
    assert_eq!(journal_order(&verified), ["verdict", "iteration.ended", "receipt", "run.finished"]);
    assert!(verified.has_effect(&Effect::RecordReceipt { snapshot: ReceiptSnapshot::Verified(sample_snapshot()) }));
    let claimed = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, claiming_report());
    assert_eq!(journal_order(&claimed), ["attempt.ended", "claim", "iteration.ended", "receipt", "run.finished"]);
    assert!(claimed.has_effect(&Effect::RecordReceipt { snapshot: ReceiptSnapshot::AtEnd }));
}

// spec: V14
#[test]
fn a_receipt_never_calls_a_later_state_verified_if_the_checked_one_could_not_be_read() {
    let verified = WorkEvent::Verified {
        key: attempt_key(1, 1),
        evidence: evidence_with_verdict(Verdict::Accepted),
        snapshot: None,
        tree_after_checks: None,
    };
    let claimed = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, claiming_report());
    let completed = claimed.play_event(EventKind::Work(verified));
    assert!(completed.has_effect(&Effect::RecordReceipt { snapshot: ReceiptSnapshot::Unreadable }));
}

// finding: N61
#[test]
fn only_a_completed_run_gets_a_receipt() {
    let exhausted = LoopScenario::start_run(Policy::new(1)).end_attempt(1, 1, quiet_report());
    assert_eq!(journal_order(&exhausted), ["attempt.ended", "claim", "iteration.ended", "run.finished"]);
    let rejected = LoopScenario::start_run(policy_with_checks(1)).end_attempt(1, 1, claiming_report()).deliver_verdict(
        1,
        1,
        Verdict::Rejected,
    );
    assert_eq!(journal_order(&rejected), ["verdict", "iteration.ended", "run.finished"]);
}
