//! Tests of proof levels and of the last rejection in the reasons of a run's end.
use alloc::boxed::Box;
use alloc::vec::Vec;

use super::builders::{
    LoopScenario, attempt_key, blocked_report, claiming_report, evidence_with_verdict, policy_with_checks,
    quiet_report, sample_seal, sample_snapshot, started_event,
};
use crate::attempt::AttemptReport;
use crate::event::{EventKind, WorkEvent};
use crate::evidence::{Evidence, Verdict};
use crate::fact::Fact;
use crate::outcome::{Outcome, exit_code};
use crate::policy::{MinimumProof, Policy};
use crate::receipt::{Proof, ProofLevel};
use crate::seal::SealingResult;

fn requiring_proof(max_iterations: u32) -> Policy {
    Policy { required_proof: MinimumProof::Proven, ..policy_with_checks(max_iterations) }
}

fn recorded_proof(scene: &LoopScenario) -> Option<Proof> {
    let proof_of = |fact: &Fact| if let Fact::RunFinished { proof, .. } = fact { proof.clone() } else { None };
    scene.recorded_facts().into_iter().find_map(proof_of)
}

fn completed_after_baseline(verdict: Verdict) -> LoopScenario {
    let scene = LoopScenario::new(policy_with_checks(3)).play_event(started_event()).finish_preparation(verdict);
    scene.end_attempt(1, 1, claiming_report()).deliver_verdict(1, 1, Verdict::Accepted)
}

fn deliver_limited_evidence(scene: LoopScenario, iteration: u32) -> LoopScenario {
    let Evidence { mut checks } = evidence_with_verdict(Verdict::Accepted);
    checks[0].proof_limit = Some("protected tests changed".into());
    let (key, snapshot) = (attempt_key(iteration, 1), Some(sample_snapshot()));
    scene.play_event(EventKind::Work(WorkEvent::Verified {
        key,
        evidence: Evidence { checks },
        snapshot,
        tree_after_checks: None,
    }))
}

// spec: V16
// finding: N4
#[test]
fn the_end_of_a_run_records_its_proof_level() {
    let level = |scene: &LoopScenario| recorded_proof(scene).unwrap().level;
    assert_eq!(level(&completed_after_baseline(Verdict::Rejected)), ProofLevel::Proven);
    assert_eq!(level(&completed_after_baseline(Verdict::Accepted)), ProofLevel::Checked);
    let claimed = LoopScenario::start_run(Policy::new(3)).end_attempt(1, 1, claiming_report());
    assert_eq!(recorded_proof(&claimed), Some(Proof::by_claim_alone()));
}

// spec: V16
#[test]
fn a_run_that_is_not_completed_has_no_proof_level() {
    let scene = LoopScenario::start_run(policy_with_checks(1)).end_attempt(1, 1, quiet_report());
    assert_eq!((scene.run_outcome(), recorded_proof(&scene)), (Some(Outcome::Exhausted), None));
}

// spec: V16
#[test]
fn a_run_that_requires_proof_is_refused_before_any_agent_starts_if_every_check_passes() {
    let scene = LoopScenario::new(requiring_proof(3)).play_event(started_event()).finish_preparation(Verdict::Accepted);
    assert_eq!((scene.started_attempt(), scene.run_outcome()), (None, Some(Outcome::Blocked)));
    assert_eq!(scene.exit_code(), Some(exit_code::PREFLIGHT_FAILED));
    assert!(scene.end_reason().ends_with("every check passes already, so none of them can prove the work"));
    assert_eq!(scene.fact_names(), ["run.sealed", "baseline", "run.finished"]);
}

// spec: V16
#[test]
fn a_run_that_requires_proof_is_refused_without_a_baseline() {
    let sealing = SealingResult::Done { seal: Box::new(sample_seal()) };
    let prepared = EventKind::Work(WorkEvent::Prepared { sealing, baseline: Vec::new() });
    let scene = LoopScenario::new(requiring_proof(3)).play_event(started_event()).play_event(prepared);
    assert_eq!((scene.started_attempt(), scene.exit_code()), (None, Some(exit_code::PREFLIGHT_FAILED)));
}

// spec: V16
#[test]
fn a_claim_of_a_lower_level_does_not_complete_a_run_that_requires_proof() {
    let scene = LoopScenario::start_run(requiring_proof(2)).end_attempt(1, 1, claiming_report());
    let scene = deliver_limited_evidence(scene, 1);
    assert_eq!(scene.started_attempt(), Some(attempt_key(2, 1)), "the run continues with the reason as feedback");
    let scene = deliver_limited_evidence(scene.end_attempt(2, 1, claiming_report()), 2);
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Exhausted), Some(exit_code::NOT_COMPLETE)));
    let reason = "the result must be proven, but is only checked: protected tests changed";
    assert!(scene.end_reason().ends_with(reason), "{}", scene.end_reason());
}

// spec: V16
#[test]
fn a_proven_claim_completes_a_run_that_requires_proof() {
    let scene = LoopScenario::start_run(requiring_proof(2)).end_attempt(1, 1, claiming_report());
    assert_eq!(scene.deliver_verdict(1, 1, Verdict::Accepted).run_outcome(), Some(Outcome::Completed));
}

fn rejected_once(policy: Policy) -> LoopScenario {
    LoopScenario::start_run(policy).end_attempt(1, 1, claiming_report()).deliver_verdict(1, 1, Verdict::Rejected)
}

const REJECTION: &str = "; the last claim was rejected: `make test`: Command exited with 1, expected 0";

// finding: N35
#[test]
fn a_stalled_blocked_or_exhausted_run_names_the_last_rejection() {
    let unchanged = || AttemptReport { has_changed_files: Some(false), ..quiet_report() };
    let stalled = rejected_once(Policy { stall_after: 1, ..policy_with_checks(9) }).end_attempt(2, 1, unchanged());
    assert_eq!(stalled.run_outcome(), Some(Outcome::Stalled));
    let blocked = rejected_once(policy_with_checks(9)).end_attempt(2, 1, blocked_report("which port?"));
    assert_eq!(blocked.end_reason(), ["the agent is blocked: which port?", REJECTION].concat());
    let exhausted = rejected_once(policy_with_checks(2)).end_attempt(2, 1, quiet_report());
    for scene in [stalled, exhausted] {
        assert!(scene.end_reason().ends_with(REJECTION), "{}", scene.end_reason());
    }
}

// finding: N35
#[test]
fn a_run_without_a_rejection_ends_with_its_own_reason() {
    let blocked = LoopScenario::start_run(policy_with_checks(9)).end_attempt(1, 1, blocked_report("which port?"));
    assert_eq!(blocked.end_reason(), "the agent is blocked: which port?");
}

// finding: N36
#[test]
fn a_claim_that_is_passed_to_the_checks_counts() {
    let scene = LoopScenario::start_run(policy_with_checks(9)).end_attempt(1, 1, claiming_report());
    let claim = scene.recorded_facts().into_iter().find(|fact| matches!(fact, Fact::Claim { .. })).unwrap().clone();
    let written = serde_json::to_value(&claim).unwrap();
    assert_eq!((&written["claim"]["counts"], &written["claim"]["accepted"]), (&true.into(), &true.into()));
    assert_eq!(serde_json::from_value::<Fact>(written.clone()).unwrap(), claim);
    let mut old = written;
    old["claim"].as_object_mut().unwrap().remove("counts");
    assert_eq!(serde_json::from_value::<Fact>(old).unwrap(), claim, "old journals are still read");
}
