//! Tests of the decisions of a person on a blocked run.
use alloc::string::ToString;

use super::builders::{
    LoopScenario, attempt_key, blocked_report, claiming_report, policy_with_checks, sample_snapshot,
};
use crate::decision::{NoDecision, PersonDecision, WaitingClaim};
use crate::effect::{Effect, ReceiptSnapshot};
use crate::event::{EventKind, LifecycleEvent, PersonVerdict};
use crate::evidence::Verdict;
use crate::fact::Fact;
use crate::outcome::Outcome;
use crate::prompt::PromptPlan;
use crate::receipt::ProofLevel;

fn decide(scene: LoopScenario, verdict: PersonVerdict, because: Option<&str>) -> LoopScenario {
    let decision =
        PersonDecision { user: "anna".to_string(), at: "now".to_string(), because: because.map(ToString::to_string) };
    scene.play_event(EventKind::Lifecycle(LifecycleEvent::Decided { verdict, decision }))
}

/// A run whose checks could not be evaluated twice, in its last two iterations.
fn blocked_run() -> LoopScenario {
    let verify = |scene: LoopScenario, iteration| {
        scene.end_attempt(iteration, 1, claiming_report()).deliver_verdict(iteration, 1, Verdict::CouldNotEvaluate)
    };
    verify(verify(LoopScenario::start_run(policy_with_checks(2)), 1), 2)
}

// spec: V17
#[test]
fn a_person_completes_a_blocked_run_and_the_measured_proof_level_stays() {
    let scene = decide(blocked_run(), PersonVerdict::Accepted, Some("the network was down"));
    assert_eq!((scene.run_outcome(), scene.exit_code()), (Some(Outcome::Completed), Some(0)));
    assert_eq!(scene.end_reason(), "accepted by anna: the network was down");
    assert_eq!(scene.fact_names(), ["run.accepted", "run.finished"]);
    assert!(scene.has_effect(&Effect::RecordReceipt { snapshot: ReceiptSnapshot::Verified(sample_snapshot()) }));
    let proof_of = |fact: &Fact| if let Fact::RunFinished { proof, .. } = fact { proof.clone() } else { None };
    let proof = scene.recorded_facts().into_iter().find_map(proof_of).unwrap();
    assert_eq!(proof.level, ProofLevel::Unverified);
    let again = decide(scene.clone(), PersonVerdict::Accepted, None);
    assert_eq!((again.state, again.effects.len()), (scene.state, 0));
}

// spec: V17
#[test]
fn a_rejected_run_is_resumed_with_the_reason_even_after_its_last_iteration() {
    let scene = decide(blocked_run(), PersonVerdict::Rejected, Some("keep the test"));
    assert_eq!(scene.fact_names(), ["run.rejected", "run.finished"]);
    assert!(scene.state.can_resume());
    let scene = scene.recover_run();
    assert_eq!(scene.started_attempt(), Some(attempt_key(3, 1)));
    let Some((PromptPlan::Whole { feedback: Some(feedback) }, _, _)) = scene.start_details() else { panic!() };
    assert_eq!(feedback.reason, "rejected by anna: keep the test");
    let scene = scene.end_attempt(3, 1, claiming_report()).deliver_verdict(3, 1, Verdict::CouldNotEvaluate);
    assert_eq!(scene.run_outcome(), Some(Outcome::Blocked), "the count of such verdicts is kept");
    assert!(scene.state.claim_to_decide().is_ok());
}

// spec: V17
#[test]
fn a_question_is_answered_and_not_accepted_or_rejected() {
    let asked = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, blocked_report("which key?"));
    let refused = asked.state.claim_to_decide().unwrap_err();
    assert!(matches!(refused, NoDecision::Question { .. }), "{refused:?}");
    for verdict in [PersonVerdict::Accepted, PersonVerdict::Rejected] {
        let scene = decide(asked.clone(), verdict, Some("so"));
        assert_eq!((scene.state, scene.effects.len()), (asked.state.clone(), 0));
    }
    let scene = decide(asked, PersonVerdict::Answered, Some("the key is in the safe"));
    assert_eq!(scene.fact_names(), ["run.guided", "run.finished"]);
    let scene = scene.recover_run();
    let guidance = scene.effects.iter().find_map(|effect| match effect {
        Effect::StartAgent(start) => Some(start.guidance.clone()),
        _ => None,
    });
    assert_eq!(guidance.unwrap(), ["the key is in the safe"]);
}

// spec: V17
#[test]
fn only_a_blocked_run_with_a_claim_waits_for_a_person() {
    let open = LoopScenario::start_run(policy_with_checks(3));
    assert_eq!(open.state.claim_to_decide(), Err(NoDecision::StillOpen));
    let rejected = open.end_attempt(1, 1, claiming_report()).deliver_verdict(1, 1, Verdict::Rejected);
    assert_eq!(rejected.state.claim_to_decide(), Err(NoDecision::StillOpen));
    let completed = rejected.end_attempt(2, 1, claiming_report()).deliver_verdict(2, 1, Verdict::Accepted);
    assert_eq!(completed.state.claim_to_decide(), Err(NoDecision::NotBlocked { outcome: Outcome::Completed }));
    assert_eq!(blocked_run().state.ensure_decidable(PersonVerdict::Answered), Err(NoDecision::ClaimWaits));
    let unprepared = LoopScenario::new(policy_with_checks(3))
        .play_event(super::builders::started_event())
        .finish_preparation(Verdict::CouldNotEvaluate);
    let refused = unprepared.state.claim_to_decide();
    assert!(matches!(refused, Err(NoDecision::NotStarted { .. })), "{refused:?}");
}

// spec: V17
#[test]
fn a_claim_is_bound_to_its_files_or_to_those_that_the_checks_left() {
    let mut claim = WaitingClaim::clone(blocked_run().state.claim_to_decide().unwrap());
    let claimed = sample_snapshot().tree;
    claim.tree_after_checks = Some("after".to_string());
    assert!(claim.has_files_of(&claimed) && claim.has_files_of("after") && !claim.has_files_of("other"));
    claim.snapshot = None;
    assert!(!claim.has_files_of("after"), "without the claimed files nothing can be accepted");
}

// spec: V17
#[test]
fn a_claim_without_recorded_files_cannot_be_accepted() {
    let mut scene = blocked_run();
    scene.state.waiting_claim.as_mut().unwrap().snapshot = None;
    let scene = decide(scene, PersonVerdict::Accepted, None);
    assert_eq!((scene.run_outcome(), scene.effects.len()), (Some(Outcome::Blocked), 0));
    assert!(scene.state.claim_to_decide().is_ok(), "it still waits");
}
