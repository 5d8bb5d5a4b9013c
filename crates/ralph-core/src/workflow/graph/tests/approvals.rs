//! Approvals, and gates of interactive loops.
use super::*;
use crate::outcome::Outcome;
use crate::workflow::{Decision, RejectRework};

fn approve(text: &str) -> PersonAnswer {
    PersonAnswer::Approve { text: text.to_string() }
}

fn reject(text: &str) -> PersonAnswer {
    PersonAnswer::Reject { text: text.to_string() }
}

fn decide(decision: &str, text: &str) -> PersonAnswer {
    PersonAnswer::Decide { decision: decision.to_string(), text: text.to_string() }
}

fn refusal(run: &TestRun) -> Option<&str> {
    run.effects.iter().find_map(|effect| {
        if let GraphEffect::RefuseAnswer { reason, .. } = effect { Some(reason.as_str()) } else { None }
    })
}

fn with_approval(approval_node: ApprovalNode) -> TestRun {
    TestRun::of(vec![approval("ask", &[], approval_node), bash("next", &["ask"])])
}

// spec: W13
#[test]
fn a_run_parks_once_only_a_person_can_continue_it() {
    let mut run = TestRun::of(vec![approval("ask", &[], question("ok?")), bash("other", &[])]);
    assert_eq!(*run.state.phase(), GraphPhase::Running);
    run.complete("other", "");
    assert_eq!(run.effects, [GraphEffect::Park]);
    assert_eq!(*run.state.phase(), GraphPhase::Waiting);
}

// spec: W13
#[test]
fn an_approval_starts_the_dependants_and_the_run_runs_again() {
    let mut run = with_approval(question("ok?"));
    assert_eq!(run.effects.last(), Some(&GraphEffect::Park));
    run.answer("ask", approve("looks good"));
    assert_eq!((run.outcome("ask").as_str(), run.running()), ("completed", vec!["next"]));
    assert_eq!(*run.state.phase(), GraphPhase::Running);
}

// spec: W13
#[test]
fn a_captured_response_is_the_output() {
    let mut run = with_approval(ApprovalNode { capture_response: true, ..question("which?") });
    run.answer("ask", approve("the second"));
    assert_eq!(run.outcome("ask"), "completed the second");
}

// spec: W13
#[test]
fn a_rejection_cancels_the_run_with_the_words_of_the_person() {
    let mut run = with_approval(question("ok?"));
    run.answer("ask", reject("too slow"));
    let cause = GraphCancelCause::Rejection(NodeId("ask".to_string()));
    assert_eq!(run.end(), Some(&GraphEnd::Cancelled { cause, reason: "too slow".to_string() }));
}

fn with_rework(max_attempts: u32) -> TestRun {
    let on_reject = Some(RejectRework { prompt: "fix it".to_string(), max_attempts });
    with_approval(ApprovalNode { on_reject, ..question("ok?") })
}

// spec: W13
#[test]
fn a_rejected_approval_with_on_reject_is_reworked_and_asked_again() {
    let mut run = with_rework(2);
    run.answer("ask", reject("no tests"));
    assert_eq!(run.active["ask"].1.action, ActivityAction::Rework { reason: "no tests".to_string(), round: 1 });
    run.complete("ask", "reworked");
    assert_eq!(run.questions["ask"].1, PersonQuestion::Approval { rejections: 1 });
    run.answer("ask", approve(""));
    assert_eq!(run.running(), ["next"]);
}

// spec: W13
#[test]
fn a_rejection_after_the_last_rework_cancels_the_run() {
    let mut run = with_rework(1);
    run.answer("ask", reject("first"));
    run.complete("ask", "");
    run.answer("ask", reject("second"));
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Cancelled));
}

// spec: W13
#[test]
fn a_rework_that_fails_for_good_fails_the_approval() {
    let mut run = with_rework(1);
    run.answer("ask", reject("first"));
    run.fail("ask", FailureKind::Permanent);
    assert_eq!(run.outcome("ask"), "failed: ask broke");
}

fn with_decisions() -> TestRun {
    let decision = |id: &str| Decision { id: id.to_string(), label: None };
    with_approval(ApprovalNode { decisions: vec![decision("approve"), decision("later")], ..question("ok?") })
}

// spec: W13
#[test]
fn a_named_decision_is_the_output_with_the_text() {
    let mut run = with_decisions();
    run.answer("ask", decide("later", "on \"Monday\""));
    assert_eq!(run.outcome("ask"), r#"completed {"decision":"later","text":"on \"Monday\""}"#);
    let mut run = with_decisions();
    run.answer("ask", approve("now"));
    assert_eq!(run.outcome("ask"), r#"completed {"decision":"approve","text":"now"}"#);
}

// spec: W13
#[test]
fn an_unknown_decision_is_refused_and_the_question_stays_open() {
    let mut run = with_decisions();
    let asked = run.questions["ask"].clone();
    run.answer("ask", decide("maybe", ""));
    assert_eq!(refusal(&run), Some("maybe is not a decision of this approval; use approve, later"));
    assert!(!run.effects.contains(&GraphEffect::Park), "the run is parked already");
    run.questions.insert("ask".to_string(), asked);
    run.answer("ask", decide("later", ""));
    assert_eq!(run.running(), ["next"]);
}

// spec: W13
#[test]
fn an_undeclared_rejection_cancels_and_a_declared_one_is_data() {
    let mut run = with_decisions();
    run.answer("ask", reject("no"));
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Cancelled));
    let decision = |id: &str| Decision { id: id.to_string(), label: None };
    let mut run =
        with_approval(ApprovalNode { decisions: vec![decision("approve"), decision("reject")], ..question("ok?") });
    run.answer("ask", reject("no"));
    assert_eq!(run.outcome("ask"), r#"completed {"decision":"reject","text":"no"}"#);
}

// spec: W13
#[test]
fn an_answer_to_a_question_that_is_no_longer_open_is_refused() {
    let mut run = with_rework(2);
    let (activity, _) = run.questions["ask"].clone();
    run.answer("ask", reject("no"));
    run.complete("ask", "");
    run.send(GraphEvent::PersonAnswered { activity, answer: approve("") });
    assert_eq!(refusal(&run), Some("the question is no longer open"));
    assert_eq!(run.outcome("ask"), "open");
}

// spec: W13
#[test]
fn an_open_question_survives_the_process_with_the_same_activity() {
    let mut run = with_approval(question("ok?"));
    let asked = run.questions["ask"].clone();
    run.restart_process();
    assert_eq!(run.questions["ask"], asked);
    assert_eq!(run.effects.last(), Some(&GraphEffect::Park));
    run.answer("ask", approve(""));
    assert_eq!(run.running(), ["next"]);
}

fn at_gate(is_claimed: bool) -> TestRun {
    let control = LoopControl { interactive: true, ..until_done(3) };
    let mut run = TestRun::of(vec![agent_loop("loop", control)]);
    let gate = LoopGate { iteration: 2, output: "draft".into(), is_claimed, proof: ProofLevel::Checked };
    run.end_activity("loop", ActivityResult::ReachedGate(gate));
    run
}

// spec: W4
#[test]
fn an_approval_at_a_gate_completes_a_loop_that_is_claimed_to_be_done() {
    let mut run = at_gate(true);
    run.answer("loop", approve("fine"));
    assert_eq!(run.outcome("loop"), "completed draft");
    assert_eq!(run.proof(), Some(ProofLevel::Checked));
}

// spec: W4
#[test]
fn an_approval_at_a_gate_continues_a_loop_that_is_not_done_with_the_text() {
    let mut run = at_gate(false);
    run.answer("loop", approve("add tests"));
    let expected = ActivityAction::ContinueLoop { iterations: 2, input: "add tests".to_string() };
    assert_eq!(run.active["loop"].1.action, expected);
}

// spec: W4
#[test]
fn a_person_can_complete_or_continue_a_loop_at_its_gate_whatever_the_agent_claims() {
    let mut run = at_gate(false);
    run.answer("loop", decide("complete", ""));
    assert_eq!(run.outcome("loop"), "completed draft");
    let mut run = at_gate(true);
    run.answer("loop", decide("continue", "not yet"));
    assert_eq!(run.running(), ["loop"]);
}

// spec: W4
#[test]
fn a_rejection_at_a_gate_cancels_the_run_and_other_words_are_refused() {
    let mut run = at_gate(false);
    run.answer("loop", reject("stop"));
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Cancelled));
    let mut run = at_gate(false);
    run.answer("loop", decide("later", ""));
    assert!(refusal(&run).is_some_and(|reason| reason.starts_with("later is not a decision at the gate")));
}
