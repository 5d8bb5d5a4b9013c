//! Random walks: every end of a run has exactly one deciding rule.
use alloc::format;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::builders::{policy_with_checks, prepared_event};
use super::random_walk::{DriverEvent, any_budget, any_driver_event, run_started, run_walk};
use crate::event::PlanAvailability;
use crate::evidence::Verdict;
use crate::explanation::{
    DecidingRule, RunRecord, deciding_rule_of_run, explain_ended_run, explain_iteration, explain_open_run,
};
use crate::fact::Fact;
use crate::outcome::Outcome;
use crate::policy::{ParkingPolicy, Policy, RateLimitPolicy};

/// Returns the outcome that a rule leads to.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other rules end no run")]
fn outcome_of(rule: DecidingRule) -> Option<Outcome> {
    use DecidingRule as Rule;
    Some(match rule {
        Rule::ChecksAccepted | Rule::ClaimAlone | Rule::PersonAccepted => Outcome::Completed,
        Rule::IterationLimit | Rule::ClosedByWorkflow => Outcome::Exhausted,
        Rule::StallLimit => Outcome::Stalled,
        Rule::CostLimit
        | Rule::TokenLimit
        | Rule::TimeLimit
        | Rule::UnknownCost
        | Rule::SharedIterationLimit
        | Rule::RateLimitWaitLimit
        | Rule::AgentWaitLimit => Outcome::OverBudget,
        Rule::RetryLimit | Rule::AgentFailure | Rule::PlanMissing | Rule::StateUnusable | Rule::InternalError => {
            Outcome::Failed
        }
        Rule::AgentBlocked
        | Rule::WorkSentBack
        | Rule::ChangedTests
        | Rule::JudgeFailed
        | Rule::ChecksUnevaluated
        | Rule::CheckCannotRun
        | Rule::SealImpossible
        | Rule::ProofImpossible => Outcome::Blocked,
        Rule::Cancelled | Rule::SessionEnded => Outcome::Cancelled,
        Rule::StopSignal | Rule::Parked | Rule::AwaitsWorkflow | Rule::ReopenedByPerson => Outcome::Interrupted,
        _ => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: U6
    #[test]
    fn every_end_of_a_run_has_exactly_one_deciding_rule(
        events in prop::collection::vec(any_driver_event(), 0..60),
        max in 1..4_u32,
        checks in any::<bool>(),
        stall_after in 0..3_u32,
        budget in any_budget(),
        parks in any::<bool>(),
    ) {
        let policy = if checks { policy_with_checks(max) } else { Policy::new(max) };
        let parking = ParkingPolicy { is_possible: parks, after_ms: 60_000, max_wait_ms: 300_000 };
        let agents = (0..2).map(|agent| format!("agent-{agent}")).collect();
        let rate_limits = RateLimitPolicy { max_wait_ms: 150_000, max_agent_wait_ms: 150_000, agents, parking };
        let policy = Policy { rate_limits, budget, stall_after, ..policy };
        let mut all = Vec::from([DriverEvent::Event(run_started(policy.proof), PlanAvailability::Available)]);
        if checks {
            all.push(DriverEvent::Event(prepared_event(Verdict::Rejected), PlanAvailability::Available));
        }
        all.extend(events);
        let (state, driver) = run_walk(policy, all);
        for (index, fact) in driver.journal.iter().enumerate() {
            let Fact::RunFinished { outcome, .. } = fact else { continue };
            let rule = deciding_rule_of_run(&driver.journal[..=index]);
            prop_assert_eq!(rule.and_then(outcome_of), Some(*outcome), "{:?}: {:?}", rule, driver.journal);
        }
        let record = RunRecord { facts: &driver.journal, state: Some(&state), used_by_others: &[] };
        let ended = explain_ended_run(&record);
        prop_assert_eq!(ended.is_some(), state.run_end().is_some());
        match ended {
            Some(ended) => {
                let others: Vec<DecidingRule> = ended.not_applied.iter().map(|other| other.rule).collect();
                prop_assert!(!others.contains(&ended.rule), "{:?} among {others:?}", ended.rule);
                let headline = format!("{}: ", state.run_end().map_or("", |end| end.outcome.as_str()));
                prop_assert!(ended.headline.starts_with(&headline), "{}", ended.headline);
            }
            None => prop_assert_ne!(explain_open_run(&record).rule, DecidingRule::Unknown),
        }
        let started = driver.journal.iter().filter(|fact| matches!(fact, Fact::IterationStarted { .. })).count();
        for iteration in 1..=u32::try_from(started).unwrap_or(0) {
            let explained = explain_iteration(&record, iteration).map(|explained| explained.rule);
            prop_assert!(explained.is_some_and(|rule| rule != DecidingRule::Unknown), "{iteration}: {explained:?}");
        }
    }
}
