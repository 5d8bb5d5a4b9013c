//! The baseline of session loops, and loops that only guard files.
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use super::tests::{after_message, command_criterion, loop_plan, moment_at, sealing_with_digest, with_proof};
use super::*;
use crate::baseline::{BaselineProblem, BaselineTrial};
use crate::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use crate::policy::{BaselineMode, ClaimVerification, Policy};

const CHECK: &str = "make test";

fn evidence(verdict: Verdict) -> CheckEvidence {
    CheckEvidence::without_output(EvidenceKind::External, CHECK.to_string(), verdict, "so".to_string())
}

fn trial(verdict: Verdict) -> BaselineTrial {
    BaselineTrial { evidence: evidence(verdict), lack: BaselineProblem::NotFixableByAgent }
}

fn start_with_baseline(baseline: Vec<BaselineTrial>, mode: BaselineMode) -> StartedSessionLoop {
    let plan = loop_plan(3);
    let policy = Policy { baseline: mode, ..plan.policy };
    let criteria = vec![command_criterion(CHECK)];
    let plan = SessionLoopPlan { criteria, baseline, policy, sealing: sealing_with_digest("d"), ..plan };
    start_session_loop(with_proof(plan), &moment_at(0))
}

/// Returns the notice of a loop whose only check passes at its claim.
fn end_notice(started: StartedSessionLoop) -> String {
    let (verifying, _) = after_message(started.state, "<promise>DONE</promise>");
    let passed = SessionLoopEvent::Verified(Evidence { checks: vec![evidence(Verdict::Accepted)] });
    handle_session_event(verifying, passed, &moment_at(9)).1.notices[0].message.clone()
}

// spec: V16, H6
#[test]
fn a_check_that_failed_at_the_start_of_a_session_loop_and_passes_at_its_claim_proves_the_work() {
    let started = start_with_baseline(vec![trial(Verdict::Rejected)], BaselineMode::Run);
    assert_eq!(started.facts[2].name(), "baseline", "{:?}", started.facts);
    assert!(started.state.checks_without_baseline().is_empty());
    let notice = end_notice(started);
    assert!(notice.contains("(proven: `make test` failed before the work and passes now)"), "{notice}");
    let notice = end_notice(start_with_baseline(vec![trial(Verdict::Accepted)], BaselineMode::Run));
    assert!(notice.contains("(checked: `make test` passed already before the work)"), "{notice}");
}

// spec: V16, H6
#[test]
fn a_session_loop_starts_without_the_baseline_of_a_check_that_could_not_be_evaluated() {
    for baseline in [vec![trial(Verdict::CouldNotEvaluate)], Vec::new()] {
        let started = start_with_baseline(baseline, BaselineMode::Run);
        assert!(started.state.is_active());
        assert!(started.facts.iter().all(|fact| fact.name() != "baseline"), "{:?}", started.facts);
        assert_eq!(started.state.checks_without_baseline(), [CHECK]);
        let notice = end_notice(started);
        assert!(notice.contains("(checked: no check was run before the work)"), "{notice}");
    }
    let unwanted = start_with_baseline(Vec::new(), BaselineMode::Skip);
    assert!(unwanted.state.checks_without_baseline().is_empty(), "it was not asked for");
}

// spec: V9, H6
#[test]
fn guarded_files_are_compared_at_a_claim_even_without_a_check() {
    let guard = ["src/*".to_string()];
    assert_eq!(ClaimVerification::for_run(&[], &[]), ClaimVerification::ClaimAlone);
    assert_eq!(ClaimVerification::for_run(&[command_criterion(CHECK)], &[]), ClaimVerification::Checks);
    let proof = ClaimVerification::for_run(&[], &guard);
    assert_eq!(proof, ClaimVerification::Checks);
    let plan = loop_plan(3);
    let policy = Policy { proof, ..plan.policy };
    let plan = SessionLoopPlan { policy, sealing: sealing_with_digest("d"), ..plan };
    let state = start_session_loop(plan, &moment_at(0)).state;
    assert!(state.seal.is_some() && state.has_verification());
    assert_eq!(after_message(state, "<promise>DONE</promise>").1.action, SessionAction::RunChecks);
}
