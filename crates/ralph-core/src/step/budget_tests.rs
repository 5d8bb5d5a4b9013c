//! One test per sentence about budgets.
use alloc::string::ToString;

use super::scenes::{Scene, claims, crashes, key, quiet, refused, with_checks};
use crate::attempt::{AttemptReport, Spend};
use crate::budget::{Budget, Scope, Shared, UnknownCost, Used};
use crate::effect::Effect;
use crate::event::{EventKind, Timer};
use crate::evidence::Verdict;
use crate::fact::Fact;
use crate::outcome::{Outcome, exit_code};
use crate::policy::Policy;

const HOUR: i64 = 3_600_000;

fn dollars(amount: u64) -> Spend {
    Spend { cost_micros: Some(amount * 1_000_000), ..Spend::default() }
}

fn costs(amount: u64, report: AttemptReport) -> AttemptReport {
    AttemptReport { spend: dollars(amount), ..report }
}

fn at_most(amount: u64, policy: Policy) -> Policy {
    let budget = Budget { max_cost_micros: Some(amount * 1_000_000), ..Budget::default() };
    Policy { budget, ..policy }
}

fn an_hour(policy: Policy) -> Policy {
    Policy { budget: Budget { max_duration_ms: Some(3_600_000), ..Budget::default() }, ..policy }
}

fn overspends(scene: Scene, amount: u64) -> Scene {
    scene.on(EventKind::Overspent { key: key(1, 1), spend: dollars(amount) })
}

// spec: L8
// fault: 89
#[test]
fn a_budget_that_is_used_up_stops_the_next_iteration() {
    let scene = Scene::started(at_most(5, Policy::new(9))).ended(1, 1, costs(3, quiet()));
    assert_eq!(scene.starts(), Some(key(2, 1)), "$3 of $5 are spent");
    let scene = scene.ended(2, 1, costs(3, quiet()));
    assert_eq!((scene.starts(), scene.outcome()), (None, Some(Outcome::OverBudget)));
    assert_eq!(scene.exit_code(), Some(exit_code::OVER_BUDGET));
    assert_eq!(scene.reason(), "$6.00 of $5.00 are spent (max_cost_usd)");
    assert_eq!(scene.state.spent, dollars(6));
}

// spec: L8
#[test]
fn retries_count_and_are_not_begun_without_a_budget() {
    let scene = Scene::started(at_most(5, Policy::new(9))).ended(1, 1, costs(5, crashes()));
    assert_eq!(scene.outcome(), Some(Outcome::OverBudget), "at once, without a pause");
    let scene = Scene::started(at_most(5, Policy::new(9))).ended(1, 1, costs(2, crashes()));
    let scene = scene.fires(Timer::Retry { key: key(1, 2) }).ended(1, 2, costs(3, crashes()));
    assert_eq!(scene.outcome(), Some(Outcome::OverBudget));
}

// spec: L8
#[test]
fn what_a_judge_costs_counts() {
    let judged = || Scene::started(at_most(5, with_checks(9))).ended(1, 1, costs(4, claims()));
    let mut scene = judged();
    assert_eq!(scene.state.spent, dollars(4));
    scene.state.spent = dollars(5);
    assert_eq!(scene.verified(1, 1, Verdict::Rejected).outcome(), Some(Outcome::OverBudget));
    assert_eq!(judged().verified(1, 1, Verdict::Rejected).starts(), Some(key(2, 1)));
}

// spec: L8
// fault: 89
#[test]
fn a_claim_is_verified_although_the_budget_is_used_up() {
    let scene = Scene::started(at_most(5, with_checks(9))).ended(1, 1, costs(6, claims()));
    assert!(scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }));
    assert_eq!(scene.verified(1, 1, Verdict::Accepted).outcome(), Some(Outcome::Completed));
}

// spec: L8
// fault: 89
#[test]
fn an_agent_that_overspends_while_it_works_is_stopped_and_nothing_is_begun_after_it() {
    let scene = overspends(Scene::started(at_most(5, Policy::new(9))), 4);
    assert!(scene.effects.is_empty(), "there is something left");
    let scene = overspends(scene, 5);
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    let Some(Fact::StopRequested { reason }) = scene.facts().first().copied() else { panic!("no stop") };
    assert_eq!(reason, "$5.00 of $5.00 are spent (max_cost_usd)");
    let scene = scene.ended(1, 1, costs(5, quiet()));
    assert_eq!((scene.outcome(), scene.state.spent), (Some(Outcome::OverBudget), dollars(5)));
}

// spec: L8
// fault: 89
#[test]
fn what_a_stopped_agent_had_claimed_counts_only_where_it_is_verified() {
    let claimed = |policy| overspends(Scene::started(at_most(5, policy)), 7).ended(1, 1, costs(7, claims()));
    let scene = claimed(with_checks(9));
    assert!(scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }));
    assert_eq!(scene.verified(1, 1, Verdict::Rejected).outcome(), Some(Outcome::OverBudget));
    assert_eq!(claimed(Policy::new(9)).outcome(), Some(Outcome::OverBudget), "its word alone is not enough");
}

// spec: L8
#[test]
fn a_run_that_died_while_it_stopped_an_overspender_ends_over_budget() {
    let scene = overspends(Scene::started(at_most(5, Policy::new(9))), 5).recovers();
    assert_eq!((scene.starts(), scene.outcome()), (None, Some(Outcome::OverBudget)));
}

// spec: L8
#[test]
fn the_time_of_a_run_ends_it_at_work_in_a_pause_and_in_a_wait() {
    let scene = Scene::started(an_hour(Policy::new(9)));
    assert!(scene.does(&Effect::StartTimer { timer: Timer::Run, after_ms: 3_600_000 }));
    let stopped = Scene::started(an_hour(Policy::new(9))).at(HOUR).fires(Timer::Run);
    assert!(stopped.does(&Effect::StopAgent { key: key(1, 1) }));
    assert_eq!(stopped.ended(1, 1, quiet()).outcome(), Some(Outcome::OverBudget));
    let paused = Scene::started(an_hour(Policy::new(9))).ended(1, 1, crashes()).fires(Timer::Run);
    assert_eq!(paused.outcome(), Some(Outcome::OverBudget));
    let waiting = Scene::started(an_hour(Policy::new(9))).ended(1, 1, refused(Some(2 * HOUR)));
    let waiting = waiting.fires(Timer::Run);
    assert_eq!(waiting.outcome(), Some(Outcome::OverBudget));
    assert_eq!(waiting.reason(), "the run has taken the 1h that it may take (max_duration)");
}

// spec: L8
#[test]
fn checks_are_not_cut_off_by_the_time_of_the_run_but_nothing_is_begun_after_them() {
    let scene = Scene::started(an_hour(with_checks(9))).ended(1, 1, claims()).at(HOUR + 5_000);
    let scene = scene.fires(Timer::Run);
    assert_eq!(scene.outcome(), None);
    assert_eq!(scene.verified(1, 1, Verdict::Rejected).outcome(), Some(Outcome::OverBudget));
}

// spec: L8, L13
#[test]
fn a_run_that_is_resumed_has_only_the_time_that_is_left() {
    let scene = Scene::started(an_hour(Policy::new(9))).at(HOUR / 2).ended(1, 1, quiet());
    let scene = scene.at(40 * HOUR).recovers();
    let left = |after_ms| Effect::StartTimer { timer: Timer::Run, after_ms };
    assert!(scene.does(&left(1_801_000)), "{:?}", scene.effects);
}

// spec: L8
#[test]
fn where_the_cost_must_be_known_an_agent_that_does_not_tell_it_is_used_once() {
    let budget = Budget { unknown_cost: UnknownCost::Refuse, ..Budget::default() };
    let scene = Scene::started(Policy { budget, ..Policy::new(9) }).ended(1, 1, costs(0, quiet()));
    assert_eq!(scene.starts(), Some(key(2, 1)));
    let scene = scene.ended(2, 1, quiet());
    assert_eq!(scene.outcome(), Some(Outcome::OverBudget));
    assert!(scene.reason().to_string().contains("require_known_cost"), "{}", scene.reason());
}

// spec: L8
#[test]
fn the_iteration_limit_is_named_before_the_budget() {
    let scene = Scene::started(at_most(5, Policy::new(1))).ended(1, 1, costs(6, quiet()));
    assert_eq!(scene.outcome(), Some(Outcome::Exhausted));
}

fn shares(amount: u64, policy: Policy) -> Policy {
    let budget = Budget { max_cost_micros: Some(amount * 1_000_000), ..Budget::default() };
    Policy { shared: [Shared { scope: Scope::Spec("auth".to_string()), budget }].into(), ..policy }
}

fn spent(amount: u64) -> Used {
    Used { spent: dollars(amount), ..Used::default() }
}

// spec: L8
#[test]
fn what_other_runs_spend_of_a_shared_budget_meanwhile_stops_the_next_iteration() {
    let scene = Scene::started(shares(5, Policy::new(9))).beside(&[spent(1)]).ended(1, 1, costs(3, quiet()));
    assert_eq!(scene.starts(), Some(key(2, 1)), "$4 of $5 are spent");
    let scene = scene.beside(&[spent(2)]).ended(2, 1, costs(0, quiet()));
    assert_eq!((scene.starts(), scene.outcome()), (None, Some(Outcome::OverBudget)));
    assert_eq!(scene.exit_code(), Some(exit_code::OVER_BUDGET));
    assert_eq!(scene.reason(), "the budget of spec auth is used up: $5.00 of $5.00 are spent (max_cost_usd)");
    assert_eq!(scene.state.spent, dollars(3), "what others spent is not its own");
}

// spec: L8
#[test]
fn the_iterations_of_all_runs_that_share_a_budget_count_and_a_retry_is_none() {
    let budget = Budget { max_iterations: Some(5), ..Budget::default() };
    let shared = [Shared { scope: Scope::Task("T-1".to_string()), budget }].into();
    let others = Used { iterations: 3, ..Used::default() };
    let scene = Scene::started(Policy { shared, ..Policy::new(9) }).beside(&[others]);
    let scene = scene.ended(1, 1, quiet());
    assert_eq!(scene.starts(), Some(key(2, 1)), "four of five");
    let scene = scene.ended(2, 1, quiet());
    assert_eq!((scene.starts(), scene.outcome()), (None, Some(Outcome::OverBudget)));
    let said = "the runs of task T-1 have had the 5 iterations that they may have (max_iterations)";
    assert_eq!(scene.reason(), said);
}

// spec: L8
#[test]
fn a_run_that_finds_a_shared_budget_used_up_starts_no_agent() {
    let scene = Scene::new(shares(5, Policy::new(9))).beside(&[spent(5)]).on(EventKind::Started);
    assert_eq!((scene.starts(), scene.outcome()), (None, Some(Outcome::OverBudget)));
}

// spec: L8
#[test]
fn an_agent_that_overspends_a_shared_budget_while_it_works_is_stopped() {
    let scene = overspends(Scene::started(shares(5, Policy::new(9))).beside(&[spent(3)]), 2);
    assert!(scene.does(&Effect::StopAgent { key: key(1, 1) }));
    assert_eq!(scene.ended(1, 1, costs(2, quiet())).outcome(), Some(Outcome::OverBudget));
}
