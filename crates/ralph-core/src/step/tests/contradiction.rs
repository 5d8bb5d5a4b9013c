//! Tests of claims that contradict themselves, and of promises that do not count.
use alloc::string::ToString;
use alloc::vec;

use super::builders::{LoopScenario, attempt_key, contradicting_report, policy_with_checks, quiet_report};
use super::iterations::prompt_plan_of;
use crate::claim::{Claim, NoClaimReason, TagMention};
use crate::criterion::{Criterion, ExternalCheck, SemanticCheck, VerificationMethod};
use crate::effect::Effect;
use crate::fact::Fact;
use crate::policy::{ContradictionRule, Policy};
use crate::prompt::{FeedbackKind, PromptPlan};

// spec: S7
// finding: N23
#[test]
fn a_contradiction_is_a_warning_where_a_check_can_decide() {
    let policy = Policy { contradictions: ContradictionRule::Warn, ..policy_with_checks(3) };
    let scene = LoopScenario::start_run(policy).end_attempt(1, 1, contradicting_report());
    assert!(scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
    let claim = scene.recorded_facts().into_iter().find_map(|fact| match fact {
        Fact::Claim { claim, .. } => Some(claim.clone()),
        _ => None,
    });
    let claim = claim.expect("the claim is recorded");
    assert!(claim.accepted);
    assert_eq!(claim.contradiction.as_deref(), Some("2 tests fail."));
}

// spec: S7
#[test]
fn a_contradiction_rejects_a_claim_that_nothing_verifies() {
    let policy = Policy { contradictions: ContradictionRule::Warn, ..Policy::new(3) };
    let scene = LoopScenario::start_run(policy).end_attempt(1, 1, contradicting_report());
    assert_eq!(scene.run_outcome(), None);
    let PromptPlan::Whole { feedback: Some(feedback) } = prompt_plan_of(&scene) else { panic!("no feedback") };
    assert!(feedback.reason.contains("2 tests fail."));
}

// spec: S7
#[test]
fn a_contradiction_is_a_warning_only_if_a_criterion_can_decide() {
    let rule = |method| ContradictionRule::for_criteria(&[Criterion::from_method(method)]);
    let judged = SemanticCheck { check_for: vec!["fast".to_string()], ..SemanticCheck::default() };
    assert_eq!(rule(VerificationMethod::External(ExternalCheck::from_shell_text("make"))), ContradictionRule::Warn);
    assert_eq!(rule(VerificationMethod::Semantic(judged)), ContradictionRule::Warn);
    assert_eq!(rule(VerificationMethod::Semantic(SemanticCheck::default())), ContradictionRule::Reject);
    assert_eq!(rule(VerificationMethod::StringMatch), ContradictionRule::Reject);
    assert_eq!(ContradictionRule::for_criteria(&[]), ContradictionRule::Reject);
}

// spec: S13
// finding: N25
#[test]
fn the_next_prompt_says_why_a_printed_promise_did_not_count() {
    let mut report = quiet_report();
    let why = NoClaimReason::Mentioned { how: TagMention::Conditional, near: "if green: [tag]".to_string() };
    report.reading.claim = Claim::None { why };
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, report);
    let PromptPlan::Whole { feedback: Some(feedback) } = prompt_plan_of(&scene) else { panic!("no feedback") };
    assert_eq!(feedback.kind, FeedbackKind::UncountedPromise);
    assert!(feedback.reason.contains("if green"));
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, quiet_report());
    assert_eq!(prompt_plan_of(&scene), PromptPlan::Whole { feedback: None });
}

// spec: S7
#[test]
fn a_contradiction_rejects_a_claim_before_checks_that_only_repeat_it() {
    let scene = LoopScenario::start_run(policy_with_checks(3)).end_attempt(1, 1, contradicting_report());
    assert!(!scene.has_effect(&Effect::RunChecks { key: attempt_key(1, 1), round: 1 }));
    let PromptPlan::Whole { feedback: Some(feedback) } = prompt_plan_of(&scene) else { panic!("no feedback") };
    assert!(feedback.reason.contains("2 tests fail."));
}
