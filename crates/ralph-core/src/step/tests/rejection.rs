//! Tests of roles that review the work of another role.
use alloc::string::ToString;

use super::builders::{LoopScenario, attempt_key, blocked_report, claiming_report, policy_with_checks, quiet_report};
use crate::attempt::AttemptReport;
use crate::effect::Effect;
use crate::outcome::{Outcome, RunEnd};
use crate::policy::{Policy, RejectTagUse};
use crate::role_duty::RoleDuty;

fn judging_policy() -> Policy {
    Policy { judging: RejectTagUse::Yes, ..policy_with_checks(3) }
}

fn rejecting_report(reason: &str) -> AttemptReport {
    let mut report = quiet_report();
    report.reading.reject = Some(reason.to_string());
    report
}

// spec: S6
#[test]
fn a_reviewing_role_that_rejects_ends_its_stage_and_sends_the_work_back() {
    let scene = LoopScenario::start_run(judging_policy()).end_attempt(1, 1, rejecting_report("no tests"));
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Blocked), Some(3)));
    assert_eq!(scene.end_reason(), "the work is sent back: no tests");
    assert!(!scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }), "nothing is claimed");
}

// spec: S6
#[test]
fn a_rejection_by_any_other_role_is_ignored() {
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, rejecting_report("no tests"));
    assert_eq!((scene.run_outcome(), scene.started_attempt()), (None, Some(attempt_key(2, 1))));
}

// spec: S6
#[test]
fn a_reviewing_role_can_still_claim_completion_or_be_blocked() {
    let scene = LoopScenario::start_run(judging_policy()).end_attempt(1, 1, claiming_report());
    assert!(scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
    let scene = LoopScenario::start_run(judging_policy()).end_attempt(1, 1, blocked_report("no key"));
    assert_eq!(scene.exit_code(), Some(6));
}

// spec: V13
#[test]
fn a_reviewer_that_approves_and_rejects_in_one_message_gets_another_iteration() {
    let both = || {
        let mut report = claiming_report();
        report.reading.final_text = "<reject>no tests</reject>\n<promise>DONE</promise>".to_string();
        report
    };
    let reviewer = Policy { duty: RoleDuty::Approve, ..judging_policy() };
    let scene = LoopScenario::start_run(reviewer).end_attempt(1, 1, both());
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)));
    let scene = LoopScenario::start_run(judging_policy()).end_attempt(1, 1, both());
    assert!(scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }), "the duty can be switched off");
}

// spec: S6
#[test]
fn only_work_that_was_sent_back_has_a_sent_back_reason() {
    assert_eq!(RunEnd::work_sent_back("no tests").sent_back_reason(), Some("no tests"));
    let blocked = RunEnd::new(Outcome::Blocked, "no key".to_string());
    assert_eq!(blocked.sent_back_reason(), None);
}
