//! Tests of budgets.
use alloc::string::ToString;

use super::builders::{
    LoopScenario, attempt_key, claiming_report, crash_report, policy_with_checks, quiet_report, rate_limited_report,
    started_event,
};
use crate::attempt::{AttemptReport, ModelSpend};
use crate::budget::{Budget, BudgetScope, BudgetUsage, ScopedBudget, UnknownCostPolicy};
use crate::effect::Effect;
use crate::event::{AgentActivity, EventKind, LoopTimer};
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
    scene.play_event(EventKind::Agent {
        key: attempt_key(1, 1),
        activity: AgentActivity::Overspent { spend: cost_of(amount) },
    })
}

// spec: L8
// fault: 89
#[test]
fn an_exhausted_budget_prevents_the_next_iteration() {
    let scene =
        LoopScenario::start_run(with_cost_limit(5, Policy::new(9))).end_attempt(1, 1, with_cost(3, quiet_report()));
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)), "$3 of $5 spent");
    let scene = scene.end_attempt(2, 1, with_cost(3, quiet_report()));
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
    assert_eq!(scene.exit_code(), Some(exit_code::OVER_BUDGET));
    assert_eq!(scene.end_reason(), "$6.00 of $5.00 spent (max_cost_usd)");
    assert_eq!(scene.state.spent, cost_of(6));
}

// spec: L8
#[test]
fn retries_count_and_are_not_started_without_budget() {
    let scene =
        LoopScenario::start_run(with_cost_limit(5, Policy::new(9))).end_attempt(1, 1, with_cost(5, crash_report()));
    assert_eq!(scene.run_outcome(), Some(Outcome::OverBudget), "immediately, without a retry");
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
fn a_claim_is_verified_even_if_the_budget_is_exhausted() {
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
fn an_agent_that_overspends_while_it_runs_is_stopped_and_no_other_attempt_starts() {
    let scene = report_overspending(LoopScenario::start_run(with_cost_limit(5, Policy::new(9))), 4);
    assert!(scene.effects.is_empty(), "there is budget left");
    let scene = report_overspending(scene, 5);
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    let Some(Fact::StopRequested { reason }) = scene.recorded_facts().first().copied() else { panic!("no stop") };
    assert_eq!(reason, "$5.00 of $5.00 spent (max_cost_usd)");
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
    assert_eq!(claimed(Policy::new(9)).run_outcome(), Some(Outcome::OverBudget), "a claim alone is not enough");
}

// spec: L8
#[test]
fn a_run_that_crashed_while_it_stopped_an_overspending_agent_ends_over_budget() {
    let scene = report_overspending(LoopScenario::start_run(with_cost_limit(5, Policy::new(9))), 5).recover_run();
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
}

// spec: L8
#[test]
fn the_time_limit_ends_a_run_while_the_agent_works_before_a_retry_and_in_a_wait() {
    let scene = LoopScenario::start_run(with_hour_limit(Policy::new(9)));
    assert!(scene.has_effect(&Effect::StartTimer { timer: LoopTimer::Run, after_ms: 3_600_000 }));
    let stopped = LoopScenario::start_run(with_hour_limit(Policy::new(9))).set_time(HOUR_MS).fire_timer(LoopTimer::Run);
    assert!(stopped.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    assert_eq!(stopped.end_attempt(1, 1, quiet_report()).run_outcome(), Some(Outcome::OverBudget));
    let before_retry = LoopScenario::start_run(with_hour_limit(Policy::new(9)))
        .end_attempt(1, 1, crash_report())
        .fire_timer(LoopTimer::Run);
    assert_eq!(before_retry.run_outcome(), Some(Outcome::OverBudget));
    let waiting = LoopScenario::start_run(with_hour_limit(Policy::new(9))).end_attempt(
        1,
        1,
        rate_limited_report(Some(2 * HOUR_MS)),
    );
    let waiting = waiting.fire_timer(LoopTimer::Run);
    assert_eq!(waiting.run_outcome(), Some(Outcome::OverBudget));
    assert_eq!(waiting.end_reason(), "the run has reached its time limit of 1h (max_duration)");
}

// spec: L8
#[test]
fn the_time_limit_does_not_stop_checks_but_no_iteration_starts_after_them() {
    let scene = LoopScenario::start_run(with_hour_limit(policy_with_checks(9)))
        .end_attempt(1, 1, claiming_report())
        .set_time(HOUR_MS + 5_000);
    let scene = scene.fire_timer(LoopTimer::Run);
    assert_eq!(scene.run_outcome(), None);
    assert_eq!(scene.deliver_verdict(1, 1, Verdict::Rejected).run_outcome(), Some(Outcome::OverBudget));
}

// spec: L8, L13
#[test]
fn a_resumed_run_has_only_the_time_left() {
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
fn an_agent_with_unknown_cost_runs_only_once_if_the_cost_must_be_known() {
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
fn the_iteration_limit_takes_precedence_over_the_budget() {
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
fn spending_of_other_runs_on_a_shared_budget_prevents_the_next_iteration() {
    let scene = LoopScenario::start_run(with_shared_cost_limit(5, Policy::new(9)))
        .with_other_usage(&[other_usage(1)])
        .end_attempt(1, 1, with_cost(3, quiet_report()));
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)), "$4 of $5 spent");
    let scene = scene.with_other_usage(&[other_usage(2)]).end_attempt(2, 1, with_cost(0, quiet_report()));
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
    assert_eq!(scene.exit_code(), Some(exit_code::OVER_BUDGET));
    assert_eq!(scene.end_reason(), "the budget of spec auth is used up: $5.00 of $5.00 spent (max_cost_usd)");
    assert_eq!(scene.state.spent, cost_of(3), "spending of other runs is not included");
}

// spec: L8
#[test]
fn the_iterations_of_all_runs_that_share_a_budget_count() {
    let budget = Budget { max_iterations: Some(5), ..Budget::default() };
    let shared = [ScopedBudget { scope: BudgetScope::Task("T-1".to_string()), budget }].into();
    let others = BudgetUsage { iterations: 3, ..BudgetUsage::default() };
    let scene = LoopScenario::start_run(Policy { shared, ..Policy::new(9) }).with_other_usage(&[others]);
    let scene = scene.end_attempt(1, 1, quiet_report());
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)), "four of five");
    let scene = scene.end_attempt(2, 1, quiet_report());
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
    let reason = "the runs of task T-1 have reached their limit of 5 iterations (max_iterations)";
    assert_eq!(scene.end_reason(), reason);
}

// spec: L8
#[test]
fn a_run_with_an_exhausted_shared_budget_starts_no_agent() {
    let scene = LoopScenario::new(with_shared_cost_limit(5, Policy::new(9)))
        .with_other_usage(&[other_usage(5)])
        .play_event(started_event());
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::OverBudget)));
}

// spec: L8
#[test]
fn an_agent_that_overspends_a_shared_budget_while_it_runs_is_stopped() {
    let scene = report_overspending(
        LoopScenario::start_run(with_shared_cost_limit(5, Policy::new(9))).with_other_usage(&[other_usage(3)]),
        2,
    );
    assert!(scene.has_effect(&Effect::StopAgent { key: attempt_key(1, 1) }));
    assert_eq!(scene.end_attempt(1, 1, with_cost(2, quiet_report())).run_outcome(), Some(Outcome::OverBudget));
}
