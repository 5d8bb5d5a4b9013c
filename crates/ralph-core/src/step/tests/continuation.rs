//! Tests of limits that change while a run is running, and of ended runs that are continued.
use alloc::string::ToString;
use alloc::vec::Vec;

use super::builders::{
    LoopScenario, attempt_key, blocked_report, claiming_report, policy_with_checks, quiet_report, rate_limited_report,
    started_event,
};
use crate::attempt::{AttemptReport, ModelSpend};
use crate::budget::Budget;
use crate::continuation::{Continuation, NoContinuation};
use crate::control_command::ControlCommand;
use crate::effect::{AgentStart, Effect};
use crate::event::{AgentActivity, EventKind, LifecycleEvent, LoopTimer};
use crate::evidence::Verdict;
use crate::fact::Fact;
use crate::limit_change::{ChangedLimits, LimitChange, LimitChanges, NoLimitToRaise};
use crate::loop_state::LoopPhase;
use crate::outcome::Outcome;
use crate::policy::{Policy, RejectTagUse};
use crate::prompt::PromptPlan;

fn iterations(change: LimitChange) -> LimitChanges {
    LimitChanges { max_iterations: Some(change), ..LimitChanges::default() }
}

fn cost(change: LimitChange) -> LimitChanges {
    LimitChanges { max_cost_micros: Some(change), ..LimitChanges::default() }
}

fn with_limits(limits: LimitChanges) -> Continuation {
    Continuation { limits, guidance: None }
}

fn with_guidance(words: &str) -> Continuation {
    Continuation { limits: LimitChanges::default(), guidance: Some(words.to_string()) }
}

fn continue_run(scene: LoopScenario, continuation: Continuation) -> LoopScenario {
    scene.play_event(EventKind::Lifecycle(LifecycleEvent::Continued { continuation }))
}

fn send_limits(scene: LoopScenario, changes: LimitChanges) -> LoopScenario {
    scene.play_event(EventKind::command_received(ControlCommand::Limit { changes }))
}

fn start_of(scene: &LoopScenario) -> AgentStart {
    let start = scene.effects.iter().find_map(|effect| match effect {
        Effect::StartAgent(start) => Some(start.clone()),
        _ => None,
    });
    start.unwrap()
}

fn costly_report(cost_micros: u64) -> AttemptReport {
    let spend = ModelSpend { cost_micros: Some(cost_micros), ..ModelSpend::default() };
    AttemptReport { spend, ..quiet_report() }
}

fn exhausted_run() -> LoopScenario {
    LoopScenario::start_run(Policy::new(2)).end_attempt(1, 1, quiet_report()).end_attempt(2, 1, quiet_report())
}

fn policy_with_cost(max_cost_micros: u64) -> Policy {
    Policy { budget: Budget { max_cost_micros: Some(max_cost_micros), ..Budget::default() }, ..Policy::new(5) }
}

// spec: L19
// finding: N49
#[test]
fn an_exhausted_run_continues_with_the_next_iteration_and_the_change_is_recorded() {
    let ended = exhausted_run();
    assert_eq!(ended.run_outcome(), Some(Outcome::Exhausted));
    let scene = continue_run(ended, with_limits(iterations(LimitChange::Added(3))));
    assert_eq!(scene.fact_names(), ["limits.changed", "run.finished"]);
    let limits = ChangedLimits { max_iterations: Some(5), ..ChangedLimits::default() };
    assert!(scene.has_effect(&Effect::Record { fact: Fact::LimitsChanged { limits } }));
    assert_eq!(scene.end_reason(), "continued with new limits: 5 iterations");
    assert!(scene.state.can_resume());
    let scene = scene.recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(3, 1)));
    assert_eq!(start_of(&scene).max_iterations, 5);
}

// spec: L19
#[test]
fn a_run_is_not_continued_into_a_limit_that_it_has_reached() {
    let refused = |scene: &LoopScenario, continuation: &Continuation| {
        let ignored = continue_run(scene.clone(), continuation.clone());
        assert_eq!((&ignored.state, ignored.effects.len()), (&scene.state, 0));
        scene.state.check_continuation(continuation).unwrap_err()
    };
    let still = |reason: &str| NoContinuation::StillLimited { reason: reason.to_string() };
    let exhausted = exhausted_run();
    let used = "it has used 2 of 2 iterations (max_iterations)";
    assert_eq!(refused(&exhausted, &with_guidance("try again")), still(used));
    assert_eq!(refused(&exhausted, &with_limits(iterations(LimitChange::Total(2)))), still(used));
    let spent = LoopScenario::start_run(policy_with_cost(1_000_000)).end_attempt(1, 1, costly_report(2_000_000));
    assert_eq!(spent.run_outcome(), Some(Outcome::OverBudget));
    let more = with_limits(cost(LimitChange::Added(500_000)));
    assert_eq!(refused(&spent, &more), still("$2.00 of $1.50 spent (max_cost_usd)"));
    let tokens = LimitChanges { max_tokens: Some(LimitChange::Added(5)), ..LimitChanges::default() };
    let missing = NoContinuation::NoLimitToRaise(NoLimitToRaise { limit: "max_tokens" });
    assert_eq!(refused(&spent, &with_limits(tokens)), missing);
}

// spec: L19
#[test]
fn a_run_over_budget_continues_with_what_it_had_spent() {
    let spent = LoopScenario::start_run(policy_with_cost(1_000_000)).end_attempt(1, 1, costly_report(1_000_000));
    let scene = continue_run(spent, with_limits(cost(LimitChange::Total(3_000_000)))).recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    let scene = scene.end_attempt(2, 1, costly_report(2_000_000));
    assert_eq!(
        (scene.run_outcome(), scene.end_reason()),
        (Some(Outcome::OverBudget), "$3.00 of $3.00 spent (max_cost_usd)")
    );
}

// spec: L19
#[test]
fn a_run_that_waited_too_long_for_a_rate_limit_may_wait_again() {
    let mut policy = Policy::new(1);
    policy.rate_limits.max_wait_ms = 1_000;
    let limited = LoopScenario::start_run(policy).end_attempt(1, 1, rate_limited_report(Some(7_200_000)));
    assert_eq!(limited.run_outcome(), Some(Outcome::OverBudget));
    let scene = continue_run(limited, with_guidance("the limit is over"));
    assert_eq!(scene.fact_names(), ["limits.changed", "run.guided", "run.finished"], "it has one more iteration");
    assert_eq!(scene.state.limits.waited_ms, 0);
    assert_eq!(scene.recover_run().started_attempt(), Some(attempt_key(2, 1)));
}

// spec: L19
#[test]
fn a_stalled_run_gets_all_its_unchanged_iterations_again() {
    let unchanged = || AttemptReport { has_changed_files: Some(false), ..quiet_report() };
    let stalled = LoopScenario::start_run(Policy { stall_after: 2, ..Policy::new(9) })
        .end_attempt(1, 1, unchanged())
        .end_attempt(2, 1, unchanged());
    assert_eq!(stalled.run_outcome(), Some(Outcome::Stalled));
    let scene = continue_run(stalled, with_guidance("the bug is in the lexer")).recover_run();
    assert_eq!(start_of(&scene).guidance, ["the bug is in the lexer"]);
    let scene = scene.end_attempt(3, 1, unchanged());
    assert_eq!(scene.run_outcome(), None);
    assert_eq!(scene.end_attempt(4, 1, unchanged()).run_outcome(), Some(Outcome::Stalled));
}

// spec: L19
#[test]
fn a_blocked_run_continues_with_an_answer_or_with_why_its_claim_was_not_accepted() {
    let asked = LoopScenario::start_run(policy_with_checks(1)).end_attempt(1, 1, blocked_report("which key?"));
    let scene = continue_run(asked, with_guidance("the one in the safe")).recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)), "after its last iteration it has one more");
    assert_eq!(start_of(&scene).guidance, ["the one in the safe"]);
    let blind = |scene: LoopScenario, number| {
        scene.end_attempt(number, 1, claiming_report()).deliver_verdict(number, 1, Verdict::CouldNotEvaluate)
    };
    let blocked = blind(blind(LoopScenario::start_run(policy_with_checks(9)), 1), 2);
    assert!(blocked.state.claim_to_decide().is_ok());
    let scene = continue_run(blocked, with_guidance("make is installed now")).recover_run();
    let PromptPlan::Whole { feedback: Some(feedback) } = start_of(&scene).plan else { panic!() };
    assert_eq!(feedback.reason, "`make test`: Command could not run: exit code 127");
    assert_eq!(scene.state.waiting_claim, None);
    assert_eq!(blind(scene, 3).run_outcome(), None, "such verdicts are counted from zero");
}

// spec: L19
#[test]
fn only_a_run_that_reached_a_limit_or_is_blocked_can_be_continued() {
    let check = |scene: &LoopScenario| scene.state.check_continuation(&with_guidance("go on")).unwrap_err();
    let open = LoopScenario::start_run(Policy::new(3));
    assert_eq!(check(&open), NoContinuation::StillOpen);
    let completed = open.clone().end_attempt(1, 1, claiming_report());
    assert_eq!(check(&completed), NoContinuation::NotContinuable { outcome: Outcome::Completed });
    let cancelled = open.play_event(EventKind::command_received(ControlCommand::Cancel));
    let cancelled = cancelled.end_attempt(1, 1, quiet_report());
    assert_eq!(check(&cancelled), NoContinuation::NotContinuable { outcome: Outcome::Cancelled });
    let mut rejects = quiet_report();
    rejects.reading.reject = Some("no tests".to_string());
    let judging = Policy { judging: RejectTagUse::Yes, ..Policy::new(3) };
    let sent_back = LoopScenario::start_run(judging).end_attempt(1, 1, rejects);
    assert_eq!(check(&sent_back), NoContinuation::SentBack { reason: "no tests".to_string() });
    let unprepared = LoopScenario::new(policy_with_checks(3))
        .play_event(started_event())
        .finish_preparation(Verdict::CouldNotEvaluate);
    assert!(matches!(check(&unprepared), NoContinuation::NotStarted { .. }));
}

// spec: L19
#[test]
fn the_iteration_limit_of_a_running_run_applies_at_the_end_of_the_iteration() {
    let scene = send_limits(LoopScenario::start_run(Policy::new(1)), iterations(LimitChange::Added(1)));
    assert_eq!(scene.fact_names(), ["limits.changed"]);
    let scene = scene.end_attempt(1, 1, quiet_report());
    assert_eq!((scene.started_attempt(), start_of(&scene).max_iterations), (Some(attempt_key(2, 1)), 2));
    let scene = send_limits(scene, iterations(LimitChange::Total(1)));
    assert!(matches!(scene.current_phase(), LoopPhase::Working { .. }), "the iteration in progress ends first");
    assert_eq!(scene.end_attempt(2, 1, quiet_report()).run_outcome(), Some(Outcome::Exhausted));
}

// spec: L19
#[test]
fn a_raised_cost_limit_counts_for_the_agent_that_is_running() {
    let overspent = |scene: LoopScenario, cost_micros| {
        let spend = ModelSpend { cost_micros: Some(cost_micros), ..ModelSpend::default() };
        scene.play_event(EventKind::Agent { key: attempt_key(1, 1), activity: AgentActivity::Overspent { spend } })
    };
    let scene = LoopScenario::start_run(policy_with_cost(1_000_000));
    let scene = overspent(send_limits(scene, cost(LimitChange::Total(2_000_000))), 1_500_000);
    assert!(matches!(scene.current_phase(), LoopPhase::Working { .. }));
    let scene = overspent(scene, 2_000_000);
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
}

// spec: L19
#[test]
fn a_changed_time_limit_restarts_the_timer_of_the_run() {
    let budget = Budget { max_duration_ms: Some(60_000), ..Budget::default() };
    let scene = LoopScenario::start_run(Policy { budget, ..Policy::new(3) });
    let changes = LimitChanges { max_duration_ms: Some(LimitChange::Added(60_000)), ..LimitChanges::default() };
    let scene = send_limits(scene, changes);
    assert!(scene.has_effect(&Effect::StartTimer { timer: LoopTimer::Run, after_ms: 119_000 }), "{:?}", scene.effects);
}

// spec: L19
#[test]
fn limits_that_change_nothing_or_cannot_be_raised_have_no_effect() {
    let scene = LoopScenario::start_run(Policy::new(3));
    for changes in [iterations(LimitChange::Total(3)), cost(LimitChange::Added(1))] {
        let same = send_limits(scene.clone(), changes);
        assert_eq!((&same.state, same.effects.len()), (&scene.state, 0));
    }
}

// spec: L19
#[test]
fn limits_that_were_changed_while_no_process_drove_the_run_apply_before_it_is_resumed() {
    let scene = LoopScenario::start_run(Policy::new(1));
    let orders = Vec::from([ControlCommand::Limit { changes: iterations(LimitChange::Total(4)) }]);
    let scene = scene.play_event(EventKind::Lifecycle(LifecycleEvent::Recovered { changed: Vec::new(), orders }));
    assert_eq!(scene.fact_names(), ["run.resumed", "limits.changed", "attempt.ended", "attempt.started"]);
    assert_eq!(start_of(&scene).max_iterations, 4);
}

// A run that has ended takes no command, so what was sent to it must not appear in a later prompt without a record.
// spec: L19, L11
#[test]
fn guidance_that_reaches_an_ended_run_is_not_part_of_its_continuation() {
    let asked = LoopScenario::start_run(policy_with_checks(1)).end_attempt(1, 1, blocked_report("which key?"));
    let late = asked.recover_run_with(Vec::from([ControlCommand::Guide { words: "too late".into() }]));
    let scene = continue_run(late, with_guidance("the one in the safe")).recover_run();
    assert_eq!(start_of(&scene).guidance, ["the one in the safe"]);
}
