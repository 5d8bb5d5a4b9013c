//! Roles that judge the work of another.
use alloc::string::ToString;

use super::scenes::{Scene, claims, key, quiet, says_blocked, with_checks};
use crate::attempt::AttemptReport;
use crate::duty::Duty;
use crate::effect::Effect;
use crate::outcome::{Ended, Outcome};
use crate::policy::{Judging, Policy};

fn judge() -> Policy {
    Policy { judging: Judging::Yes, ..with_checks(3) }
}

fn rejects(reason: &str) -> AttemptReport {
    let mut report = quiet();
    report.reading.reject = Some(reason.to_string());
    report
}

// spec: S6
#[test]
fn a_judging_role_that_rejects_ends_its_stage_and_sends_the_work_back() {
    let scene = Scene::started(judge()).ended(1, 1, rejects("no tests"));
    assert_eq!((scene.outcome(), scene.exit_code()), (Some(Outcome::Blocked), Some(3)));
    assert_eq!(scene.reason(), "the work is sent back: no tests");
    assert!(!scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }), "nothing is claimed");
}

// spec: S6
#[test]
fn to_any_other_role_a_rejection_means_nothing() {
    let scene = Scene::started(with_checks(3)).ended(1, 1, rejects("no tests"));
    assert_eq!((scene.outcome(), scene.starts()), (None, Some(key(2, 1))));
}

// spec: S6
#[test]
fn a_judging_role_can_still_claim_and_be_blocked() {
    let scene = Scene::started(judge()).ended(1, 1, claims());
    assert!(scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }));
    let scene = Scene::started(judge()).ended(1, 1, says_blocked("no key"));
    assert_eq!(scene.exit_code(), Some(6));
}

// spec: V13
#[test]
fn a_reviewer_that_approves_and_rejects_in_one_message_is_asked_again() {
    let both = || {
        let mut report = claims();
        report.reading.final_text = "<reject>no tests</reject>\n<promise>DONE</promise>".to_string();
        report
    };
    let reviewer = Policy { duty: Duty::Approve, ..judge() };
    let scene = Scene::started(reviewer).ended(1, 1, both());
    assert_eq!(scene.starts(), Some(key(2, 1)));
    let scene = Scene::started(judge()).ended(1, 1, both());
    assert!(scene.does(&Effect::RunChecks { key: key(1, 1), round: 1 }), "the duty can be switched off");
}

// spec: S6
#[test]
fn only_work_that_was_sent_back_says_why() {
    assert_eq!(Ended::sent_back("no tests").sent_back_because(), Some("no tests"));
    let blocked = Ended::new(Outcome::Blocked, "no key".to_string());
    assert_eq!(blocked.sent_back_because(), None);
}
