//! One test per sentence about budgets.
use alloc::string::ToString;

use super::test_builders::{
    LoopScenario, attempt_key, claiming_report, crash_report, policy_with_checks, quiet_report, rate_limited_report,
};
use crate::attempt::{AttemptReport, ModelSpend};
use crate::budget::{Budget, BudgetScope, BudgetUsage, ScopedBudget, UnknownCostPolicy};
use crate::effect::Effect;
use crate::event::{EventKind, LoopTimer};
use crate::evidence::Verdict;
use crate::fact::Fact;
use crate::outcome::{Outcome, exit_code};
use crate::policy::Policy;

const HOUR_MS: i64 = 3_600_000;

fn cost_of(amount: u64) -> ModelSpend {
    ModelSpend { cost_micros: Some(amount * 1_000_000), ..ModelSpend::default() }
}

fn with_cost(amount: u64, report: AttemptReport) -> AttemptReport {
    AttemptReport { spend: cost_of(amount), ..report }
}

fn with_cost_limit(amount: u64, policy: Policy) -> Policy {
    let budget = Budget { max_cost_micros: Some(amount * 1_000_000), ..Budget::default() };
    Policy { budget, ..policy }
}

fn with_hour_limit(policy: Policy) -> Policy {
    Policy { budget: Budget { max_duration_ms: Some(3_600_000), ..Budget::default() }, ..policy }
}

fn report_overspending(scene: LoopScenario, amount: u64) -> LoopScenario {
    scene.play_event(EventKind::Overspent { key: attempt_key(1, 1), spend: cost_of(amount) })
}

// spec: L8
// fault: 89
#[test]
fn a_budget_that_is_used_up_stops_the_next_iteration() {
    let scene =
        LoopScenario::start_run(with_cost_limit(5, Policy::new(9))).end_attempt(1, 1, with_cost(3, quiet_report()));
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)), "$3 of $5 are spent");
    let scene = scene.end_attempt(2, 1, with_cost(3, quiet_report()));
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
    assert_eq!(scene.exit_code(), Some(exit_code::OVER_BUDGET));
    assert_eq!(scene.end_reason(), "$6.00 of $5.00 are spent (max_cost_usd)");
    assert_eq!(scene.state.spent, cost_of(6));
}

// spec: L8
#[test]
fn retries_count_and_are_not_begun_without_a_budget() {
    let scene =
        LoopScenario::start_run(with_cost_limit(5, Policy::new(9))).end_attempt(1, 1, with_cost(5, crash_report()));
    assert_eq!(scene.run_outcome(), Some(Outcome::OverBudget), "at once, without a pause");
    let scene =
        LoopScenario::start_run(with_cost_limit(5, Policy::new(9))).end_attempt(1, 1, with_cost(2, crash_report()));
    let scene =
        scene.fire_timer(LoopTimer::Retry { key: attempt_key(1, 2) }).end_attempt(1, 2, with_cost(3, crash_report()));
    assert_eq!(scene.run_outcome(), Some(Outcome::OverBudget));
}

// spec: L8
#[test]
fn judge_costs_count_against_the_budget() {
    let judged = || {
        LoopScenario::start_run(with_cost_limit(5, policy_with_checks(9))).end_attempt(
            1,
            1,
            with_cost(4, claiming_report()),
        )
    };
    let mut scene = judged();
    assert_eq!(scene.state.spent, cost_of(4));
    scene.state.spent = cost_of(5);
    assert_eq!(scene.deliver_verdict(1, 1, Verdict::Rejected).run_outcome(), Some(Outcome::OverBudget));
    assert_eq!(judged().deliver_verdict(1, 1, Verdict::Rejected).started_attempt(), Some(attempt_key(2, 1)));
}

// spec: L8
// fault: 89
#[test]
fn a_claim_is_verified_although_the_budget_is_used_up() {
    let scene = LoopScenario::start_run(with_cost_limit(5, policy_with_checks(9))).end_attempt(
        1,
        1,
        with_cost(6, claiming_report()),
    );
    assert!(scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
    assert_eq!(scene.deliver_verdict(1, 1, Verdict::Accepted).run_outcome(), Some(Outcome::Completed));
}

// spec: L8
// fault: 89
#[test]
fn an_agent_that_overspends_while_it_works_is_stopped_and_nothing_is_begun_after_it() {
    let scene = report_overspending(LoopScenario::start_run(with_cost_limit(5, Policy::new(9))), 4);
    assert!(scene.effects.is_empty(), "there is something left");
    let scene = report_overspending(scene, 5);
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    let Some(Fact::StopRequested { reason }) = scene.recorded_facts().first().copied() else { panic!("no stop") };
    assert_eq!(reason, "$5.00 of $5.00 are spent (max_cost_usd)");
    let scene = scene.end_attempt(1, 1, with_cost(5, quiet_report()));
    assert_eq!((scene.run_outcome(), scene.state.spent), (Some(Outcome::OverBudget), cost_of(5)));
}

// spec: L8
// fault: 89
#[test]
fn a_claim_of_a_stopped_agent_counts_only_if_it_is_verified() {
    let claimed = |policy| {
        report_overspending(LoopScenario::start_run(with_cost_limit(5, policy)), 7).end_attempt(
            1,
            1,
            with_cost(7, claiming_report()),
        )
    };
    let scene = claimed(policy_with_checks(9));
    assert!(scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
    assert_eq!(scene.deliver_verdict(1, 1, Verdict::Rejected).run_outcome(), Some(Outcome::OverBudget));
    assert_eq!(claimed(Policy::new(9)).run_outcome(), Some(Outcome::OverBudget), "its word alone is not enough");
}

// spec: L8
#[test]
fn a_run_that_died_while_it_stopped_an_overspender_ends_over_budget() {
    let scene = report_overspending(LoopScenario::start_run(with_cost_limit(5, Policy::new(9))), 5).recover_run();
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
}

// spec: L8
#[test]
fn the_time_of_a_run_ends_it_at_work_in_a_pause_and_in_a_wait() {
    let scene = LoopScenario::start_run(with_hour_limit(Policy::new(9)));
    assert!(scene.has_effect(&Effect::StartTimer { timer: LoopTimer::Run, after_ms: 3_600_000 }));
    let stopped = LoopScenario::start_run(with_hour_limit(Policy::new(9))).set_time(HOUR_MS).fire_timer(LoopTimer::Run);
    assert!(stopped.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    assert_eq!(stopped.end_attempt(1, 1, quiet_report()).run_outcome(), Some(Outcome::OverBudget));
    let paused = LoopScenario::start_run(with_hour_limit(Policy::new(9)))
        .end_attempt(1, 1, crash_report())
        .fire_timer(LoopTimer::Run);
    assert_eq!(paused.run_outcome(), Some(Outcome::OverBudget));
    let waiting = LoopScenario::start_run(with_hour_limit(Policy::new(9))).end_attempt(
        1,
        1,
        rate_limited_report(Some(2 * HOUR_MS)),
    );
    let waiting = waiting.fire_timer(LoopTimer::Run);
    assert_eq!(waiting.run_outcome(), Some(Outcome::OverBudget));
    assert_eq!(waiting.end_reason(), "the run has taken the 1h that it may take (max_duration)");
}

// spec: L8
#[test]
fn checks_are_not_cut_off_by_the_time_of_the_run_but_nothing_is_begun_after_them() {
    let scene = LoopScenario::start_run(with_hour_limit(policy_with_checks(9)))
        .end_attempt(1, 1, claiming_report())
        .set_time(HOUR_MS + 5_000);
    let scene = scene.fire_timer(LoopTimer::Run);
    assert_eq!(scene.run_outcome(), None);
    assert_eq!(scene.deliver_verdict(1, 1, Verdict::Rejected).run_outcome(), Some(Outcome::OverBudget));
}

// spec: L8, L13
#[test]
fn a_run_that_is_resumed_has_only_the_time_that_is_left() {
    let scene = LoopScenario::start_run(with_hour_limit(Policy::new(9))).set_time(HOUR_MS / 2).end_attempt(
        1,
        1,
        quiet_report(),
    );
    let scene = scene.set_time(40 * HOUR_MS).recover_run();
    let left = |after_ms| Effect::StartTimer { timer: LoopTimer::Run, after_ms };
    assert!(scene.has_effect(&left(1_801_000)), "{:?}", scene.effects);
}

// spec: L8
#[test]
fn an_agent_of_unknown_cost_runs_only_once_if_the_cost_must_be_known() {
    let budget = Budget { unknown_cost: UnknownCostPolicy::Refuse, ..Budget::default() };
    let scene =
        LoopScenario::start_run(Policy { budget, ..Policy::new(9) }).end_attempt(1, 1, with_cost(0, quiet_report()));
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    let scene = scene.end_attempt(2, 1, quiet_report());
    assert_eq!(scene.run_outcome(), Some(Outcome::OverBudget));
    assert!(scene.end_reason().to_string().contains("require_known_cost"), "{}", scene.end_reason());
}

// spec: L8
#[test]
fn the_iteration_limit_is_named_before_the_budget() {
    let scene =
        LoopScenario::start_run(with_cost_limit(5, Policy::new(1))).end_attempt(1, 1, with_cost(6, quiet_report()));
    assert_eq!(scene.run_outcome(), Some(Outcome::Exhausted));
}

fn with_shared_cost_limit(amount: u64, policy: Policy) -> Policy {
    let budget = Budget { max_cost_micros: Some(amount * 1_000_000), ..Budget::default() };
    Policy { shared: [ScopedBudget { scope: BudgetScope::Spec("auth".to_string()), budget }].into(), ..policy }
}

fn other_usage(amount: u64) -> BudgetUsage {
    BudgetUsage { spent: cost_of(amount), ..BudgetUsage::default() }
}

// spec: L8
#[test]
fn spending_of_other_runs_on_a_shared_budget_stops_the_next_iteration() {
    let scene = LoopScenario::start_run(with_shared_cost_limit(5, Policy::new(9)))
        .with_other_usage(&[other_usage(1)])
        .end_attempt(1, 1, with_cost(3, quiet_report()));
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)), "$4 of $5 are spent");
    let scene = scene.with_other_usage(&[other_usage(2)]).end_attempt(2, 1, with_cost(0, quiet_report()));
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
    assert_eq!(scene.exit_code(), Some(exit_code::OVER_BUDGET));
    assert_eq!(scene.end_reason(), "the budget of spec auth is used up: $5.00 of $5.00 are spent (max_cost_usd)");
    assert_eq!(scene.state.spent, cost_of(3), "what others spent is not its own");
}

// spec: L8
#[test]
fn the_iterations_of_all_runs_that_share_a_budget_count_and_a_retry_is_none() {
    let budget = Budget { max_iterations: Some(5), ..Budget::default() };
    let shared = [ScopedBudget { scope: BudgetScope::Task("T-1".to_string()), budget }].into();
    let others = BudgetUsage { iterations: 3, ..BudgetUsage::default() };
    let scene = LoopScenario::start_run(Policy { shared, ..Policy::new(9) }).with_other_usage(&[others]);
    let scene = scene.end_attempt(1, 1, quiet_report());
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)), "four of five");
    let scene = scene.end_attempt(2, 1, quiet_report());
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
    let said = "the runs of task T-1 have had the 5 iterations that they may have (max_iterations)";
    assert_eq!(scene.end_reason(), said);
}

// spec: L8
#[test]
fn a_run_that_finds_a_shared_budget_used_up_starts_no_agent() {
    let scene = LoopScenario::new(with_shared_cost_limit(5, Policy::new(9)))
        .with_other_usage(&[other_usage(5)])
        .play_event(EventKind::Started);
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
}

// spec: L8
#[test]
fn an_agent_that_overspends_a_shared_budget_while_it_works_is_stopped() {
    let scene = report_overspending(
        LoopScenario::start_run(with_shared_cost_limit(5, Policy::new(9))).with_other_usage(&[other_usage(3)]),
        2,
    );
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    assert_eq!(scene.end_attempt(1, 1, with_cost(2, quiet_report())).run_outcome(), Some(Outcome::OverBudget));
}
