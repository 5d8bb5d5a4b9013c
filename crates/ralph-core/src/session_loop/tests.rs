//! Tests of the rules of a session loop.
use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::attempt::ModelSpend;
use crate::budget::Budget;
use crate::claim::{ClaimRules, Promise};
use crate::criterion::{Criterion, ExternalCheck};
use crate::event::UnixMillis;
use crate::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use crate::outcome::Outcome;
use crate::policy::{ClaimVerification, Policy};
use crate::seal::{Seal, SealingResult};

pub(super) fn moment_at(at: i64) -> DecisionMoment {
    DecisionMoment { at: UnixMillis(at), random: 7 }
}

pub(super) fn start_state(plan: SessionLoopPlan, moment: &DecisionMoment) -> SessionLoop {
    start_session_loop(with_proof(plan), moment).state
}

/// Returns the plan with the verification that its criteria need.
pub(super) fn with_proof(plan: SessionLoopPlan) -> SessionLoopPlan {
    let proof = ClaimVerification::for_run(&plan.criteria, &[]);
    SessionLoopPlan { policy: Policy { proof, ..plan.policy }, ..plan }
}

pub(super) fn loop_plan(max: u32) -> SessionLoopPlan {
    SessionLoopPlan {
        agent: "claude".to_string(),
        prompt: "Fix the parser.".to_string(),
        rules: ClaimRules::new(Promise::parse("DONE").unwrap()),
        criteria: Vec::new(),
        policy: Policy::new(max),
        sealing: None,
        baseline: Vec::new(),
    }
}

pub(super) fn sealing_with_digest(digest: &str) -> Option<SealingResult> {
    let seal = Seal {
        digest: digest.to_string(),
        criteria_digest: "c".to_string(),
        base: None,
        files: Vec::new(),
        folders: Vec::new(),
        absent: Vec::new(),
        touched: Vec::new(),
        git: Vec::new(),
        allowed: crate::seal::AllowedChanges::default(),
        uncommitted: Vec::new(),
        protected: None,
        notes: Vec::new(),
    };
    Some(SealingResult::Done { seal: Box::new(seal) })
}

pub(super) fn loop_with_checks(max: u32) -> SessionLoop {
    let criteria = vec![command_criterion("make test"), command_criterion("make lint")];
    start_state(SessionLoopPlan { criteria, sealing: sealing_with_digest("d"), ..loop_plan(max) }, &moment_at(0))
}

pub(super) fn command_criterion(text: &str) -> Criterion {
    ExternalCheck::from_shell_text(text).into()
}

pub(super) fn started_loop(max: u32) -> SessionLoop {
    start_state(loop_plan(max), &moment_at(0))
}

pub(super) fn turn_end(message: &str) -> TurnEnd {
    TurnEnd { message: Some(message.to_string()), session: "s1".to_string(), ..TurnEnd::default() }
}

pub(super) fn after_message(state: SessionLoop, message: &str) -> (SessionLoop, SessionDecision) {
    handle_session_event(state, SessionLoopEvent::TurnEnded(turn_end(message)), &moment_at(1_000))
}

// spec: H4
// fault: 113
#[test]
fn an_identical_start_is_a_duplicate_and_a_different_one_is_not() {
    let first = loop_with_checks(5);
    let later = |at: i64| {
        start_state(
            SessionLoopPlan { sealing: sealing_with_digest("d"), criteria: first.criteria.clone(), ..loop_plan(5) },
            &moment_at(at),
        )
    };
    assert!(first.is_duplicated_by(&later(0)) && first.is_duplicated_by(&later(10_000)));
    assert!(!first.is_duplicated_by(&later(10_001)), "a later start is a new loop");
    let others = [
        SessionLoopPlan {
            prompt: "Fix the lexer.".to_string(),
            sealing: sealing_with_digest("d"),
            criteria: first.criteria.clone(),
            ..loop_plan(5)
        },
        SessionLoopPlan { sealing: sealing_with_digest("d"), criteria: first.criteria.clone(), ..loop_plan(6) },
        SessionLoopPlan {
            sealing: sealing_with_digest("d"),
            criteria: vec![command_criterion("make test")],
            ..loop_plan(5)
        },
        SessionLoopPlan { sealing: sealing_with_digest("changed"), criteria: first.criteria.clone(), ..loop_plan(5) },
    ];
    for other in others {
        let other = start_state(other, &moment_at(1));
        assert!(!first.is_duplicated_by(&other), "{other:?}");
    }
    let (stopped, _) = after_message(first.clone(), "on it");
    assert!(!stopped.is_duplicated_by(&later(1_001)), "the first loop has continued since");
    let (over, _) = handle_session_event(first.clone(), SessionLoopEvent::Cancelled, &moment_at(1));
    assert!(!over.is_duplicated_by(&later(2)));
}

#[track_caller]
pub(super) fn continuation_prompt(answer: &SessionDecision) -> &str {
    match &answer.action {
        SessionAction::Continue { prompt } => prompt,
        SessionAction::AllowStop | SessionAction::RunChecks => panic!("it was not continued: {answer:?}"),
    }
}

pub(super) fn verified_event(verdict: Verdict, reason: &str) -> SessionLoopEvent {
    let check = CheckEvidence::without_output(EvidenceKind::External, "make test".into(), verdict, reason.into());
    SessionLoopEvent::Verified(Evidence { checks: vec![check] })
}

pub(super) fn loop_outcome(state: &SessionLoop) -> Option<Outcome> {
    state.machine.run_end().map(|ended| ended.outcome)
}

// spec: H3, H5
#[test]
fn a_loop_starts_at_iteration_1_and_its_prompt_says_how_to_end_it() {
    let state = started_loop(100);
    assert!(state.is_active());
    assert_eq!((state.current_iteration(), state.max_iterations()), (1, 100));
    let prompt = state.first_prompt();
    assert!(prompt.starts_with("Fix the parser.") && prompt.contains("<promise>DONE</promise>"), "{prompt}");
    let notice = SessionNotice::loop_started(100, "DONE");
    assert_eq!(notice.message, "Max 100 iterations. Complete with <promise>DONE</promise>");
    assert_eq!((notice.title.as_str(), notice.duration), ("Ralph Loop Started", Some(3_000)));
}

// spec: H5, V2
#[test]
fn the_start_notice_names_each_check_without_its_script() {
    let script =
        Criterion { name: Some("files-exist".to_string()), ..command_criterion("for file; do\n  test -s $file; done") };
    let notice = SessionNotice::loop_started(9, "DONE").with_checks(&[command_criterion("make test"), script]);
    let named = "Complete with <promise>DONE</promise>, checked by `make test` and `files-exist`";
    assert!(notice.message.ends_with(named), "{}", notice.message);
}

// spec: H5, H7, L4
#[test]
fn a_session_that_stops_without_a_claim_is_continued_with_the_next_iteration() {
    let (state, answer) = after_message(started_loop(5), "I think I am done.");
    let prompt = continuation_prompt(&answer);
    assert!(prompt.starts_with("[RALPH LOOP - ITERATION 2/5]\n\nYour previous attempt did not output"), "{prompt}");
    assert!(prompt.ends_with("Original task:\nFix the parser."), "{prompt}");
    assert_eq!(answer.notices, [SessionNotice::iteration_started(2, 5)]);
    assert_eq!(answer.notices[0].message, "Iteration 2/5");
    assert_eq!((state.current_iteration(), state.last_iteration), (2, Some(UnixMillis(1_000))));
}

// spec: H5, H7, V16
// finding: N34, N74
#[test]
fn a_claim_ends_a_loop_that_has_no_checks() {
    let (state, answer) = after_message(started_loop(5), "All done! <promise>DONE</promise>");
    assert_eq!(answer.action, SessionAction::AllowStop);
    assert_eq!(answer.notices[0].title, "Ralph Loop Complete!");
    let expected = "Task completed after 1 iteration(s): nothing was verified, only the agent's word supports it";
    assert_eq!(answer.notices[0].message, expected);
    assert_eq!((answer.notices[0].variant, answer.notices[0].duration), (NoticeVariant::Success, Some(5_000)));
    assert_eq!((state.is_active(), loop_outcome(&state)), (false, Some(Outcome::Completed)));
}

// spec: H6, S3
#[test]
fn claims_follow_the_same_rules_as_in_headless_runs() {
    for message in [
        "Not done: I will print <promise>DONE</promise> when the tests pass.",
        "`<promise>DONE</promise>` is what I must print.",
        "<promise>OTHER</promise>",
        "",
    ] {
        assert_eq!(after_message(started_loop(5), message).0.current_iteration(), 2, "{message}");
    }
    let (_, answer) =
        after_message(started_loop(5), "<promise>DONE</promise>\n\nTODO: the lexer is not yet implemented.");
    assert!(continuation_prompt(&answer).contains("Your completion claim was rejected"), "{answer:?}");
}

// spec: H6, V1
#[test]
fn a_claim_is_checked_if_there_are_checks_and_only_they_complete_it() {
    let (state, answer) = after_message(loop_with_checks(5), "<promise>DONE</promise>");
    assert_eq!((answer.action, state.is_active()), (SessionAction::RunChecks, true));
    let (rejected, answer) =
        handle_session_event(state.clone(), verified_event(Verdict::Rejected, "2 tests fail"), &moment_at(2_000));
    assert!(continuation_prompt(&answer).contains("Your completion claim was rejected: `make test`: 2 tests fail."));
    assert_eq!((rejected.current_iteration(), rejected.is_active()), (2, true));
    let (accepted, answer) = handle_session_event(state, verified_event(Verdict::Accepted, "ok"), &moment_at(2_000));
    assert_eq!((answer.action, loop_outcome(&accepted)), (SessionAction::AllowStop, Some(Outcome::Completed)));
}

// spec: H6, V7
#[test]
fn checks_that_cannot_be_evaluated_twice_end_the_loop_as_blocked() {
    let claim_and_fail = |state| {
        handle_session_event(
            after_message(state, "<promise>DONE</promise>").0,
            verified_event(Verdict::CouldNotEvaluate, "no make"),
            &moment_at(9),
        )
    };
    let (state, _) = claim_and_fail(loop_with_checks(9));
    let (state, answer) = claim_and_fail(state);
    assert_eq!((answer.action, loop_outcome(&state)), (SessionAction::AllowStop, Some(Outcome::Blocked)));
    assert_eq!(answer.notices[0].title, "Ralph Loop Stopped");
}

// spec: H6
#[test]
fn interrupted_checks_restart_with_the_next_claim_and_are_discarded_without_one() {
    let (verifying, _) = after_message(loop_with_checks(5), "<promise>DONE</promise>");
    let (state, answer) = after_message(verifying.clone(), "<promise>DONE</promise>");
    assert_eq!((answer.action, state.current_iteration()), (SessionAction::RunChecks, 1));
    let (state, answer) = after_message(verifying, "I found another problem.");
    assert!(continuation_prompt(&answer).contains("ITERATION 2/5"));
    assert_eq!(state.current_iteration(), 2);
}

// spec: H6
#[test]
fn a_session_with_unfinished_checks_is_asked_to_wait_in_the_same_iteration() {
    let (verifying, _) = after_message(loop_with_checks(5), "<promise>DONE</promise>");
    let (state, answer) =
        handle_session_event(verifying, SessionLoopEvent::StillChecking { done: 1, total: 2 }, &moment_at(9));
    let prompt = continuation_prompt(&answer);
    assert!(prompt.contains("1 of 2 checks have passed") && prompt.contains("\n<promise>DONE</promise>\n"));
    assert_eq!(state.current_iteration(), 1);
    assert_eq!(after_message(state, "<promise>DONE</promise>").1.action, SessionAction::RunChecks);
}

// spec: H6
#[test]
fn checks_that_never_finish_are_abandoned() {
    let mut state = loop_with_checks(5);
    for _ in 0..2 {
        let (verifying, _) = after_message(state, "<promise>DONE</promise>");
        (state, _) =
            handle_session_event(verifying, SessionLoopEvent::StillChecking { done: 1, total: 2 }, &moment_at(9));
        assert_eq!(state.current_iteration(), 1);
    }
    let (verifying, _) = after_message(state, "<promise>DONE</promise>");
    let (state, answer) =
        handle_session_event(verifying, SessionLoopEvent::StillChecking { done: 1, total: 2 }, &moment_at(9));
    assert!(continuation_prompt(&answer).contains("the files change meanwhile"), "{answer:?}");
    assert_eq!(state.current_iteration(), 2);
}

// spec: H4
#[test]
fn a_loop_that_cannot_be_sealed_never_starts() {
    let sealing = Some(SealingResult::Impossible { why: "no git".to_string() });
    let criteria = vec![command_criterion("true")];
    let state = start_state(SessionLoopPlan { criteria, sealing, ..loop_plan(3) }, &moment_at(0));
    assert!(!state.is_active());
    assert!(state.machine.run_end().unwrap().reason.contains("no git"));
}

// spec: H5, H7, L3
// fault: 116
#[test]
fn the_iteration_limit_ends_the_loop_and_a_claim_on_the_last_iteration_counts() {
    let (state, _) = after_message(started_loop(2), "going on");
    let (stopped, answer) = after_message(state.clone(), "still going on");
    assert_eq!((answer.action.clone(), loop_outcome(&stopped)), (SessionAction::AllowStop, Some(Outcome::Exhausted)));
    let notice = &answer.notices[0];
    assert_eq!(notice.message, "Max iterations (2) reached without completion");
    assert_eq!((notice.title.as_str(), notice.variant), ("Ralph Loop Stopped", NoticeVariant::Warning));
    assert_eq!(loop_outcome(&after_message(state, "<promise>DONE</promise>").0), Some(Outcome::Completed));
}

// spec: H5, S6
#[test]
fn a_blocked_agent_may_stop() {
    let (state, answer) = after_message(started_loop(5), "<blocked>I need the API key</blocked>");
    assert_eq!((answer.action, loop_outcome(&state)), (SessionAction::AllowStop, Some(Outcome::Blocked)));
    assert!(answer.notices[0].message.contains("I need the API key"));
}

// spec: H5, L17
#[test]
fn a_session_does_not_sleep_and_continues_after_a_wait() {
    let (state, answer) = after_message(started_loop(5), "<wait for=\"1h\">the build runs</wait>");
    continuation_prompt(&answer);
    assert_eq!(state.current_iteration(), 2);
}

// spec: H6, L8
#[test]
fn an_exhausted_budget_ends_the_loop() {
    let policy = Policy { budget: Budget { max_tokens: Some(100), ..Budget::default() }, ..Policy::new(9) };
    let state = start_state(SessionLoopPlan { policy, ..loop_plan(9) }, &moment_at(0));
    let spend = |tokens| ModelSpend { output_tokens: Some(tokens), ..ModelSpend::default() };
    let stop = |tokens| SessionLoopEvent::TurnEnded(TurnEnd { spend: spend(tokens), ..turn_end("on it") });
    let (state, answer) = handle_session_event(state, stop(60), &moment_at(1));
    continuation_prompt(&answer);
    let (state, answer) = handle_session_event(state, stop(60), &moment_at(2));
    assert_eq!((answer.action, loop_outcome(&state)), (SessionAction::AllowStop, Some(Outcome::OverBudget)));
    let policy = Policy { budget: Budget { max_duration_ms: Some(500), ..Budget::default() }, ..Policy::new(9) };
    let late = after_message(start_state(SessionLoopPlan { policy, ..loop_plan(9) }, &moment_at(0)), "on it");
    assert_eq!(loop_outcome(&late.0), Some(Outcome::OverBudget));
}

// finding: N37
// spec: H5
#[test]
fn a_user_abort_clears_the_loop_and_is_the_reason() {
    for name in ["MessageAbortedError", "AbortError"] {
        let (state, answer) = handle_session_event(
            started_loop(5),
            SessionLoopEvent::SessionError { name: name.to_string() },
            &moment_at(1),
        );
        let facts = answer.facts.clone();
        assert_eq!(answer, SessionDecision { facts, ..SessionDecision::allow_silently() });
        assert!(!state.is_active());
        assert_eq!(state.machine.run_end().unwrap().reason, "the user aborted the session");
    }
}

// finding: N37
// spec: H5
#[test]
fn deleting_a_session_ends_its_loop_and_is_the_reason() {
    let (state, answer) = handle_session_event(started_loop(5), SessionLoopEvent::SessionDeleted, &moment_at(1));
    assert_eq!((state.is_active(), answer.notices.len(), loop_outcome(&state)), (false, 0, Some(Outcome::Cancelled)));
    assert_eq!(state.machine.run_end().unwrap().reason, "the session was deleted");
}

// spec: H5
#[test]
fn after_any_other_error_a_stop_is_ignored_for_five_seconds() {
    let error = SessionLoopEvent::SessionError { name: "APIError".to_string() };
    let (state, answer) = handle_session_event(started_loop(5), error, &moment_at(10_000));
    assert_eq!(answer, SessionDecision::allow_silently());
    let stops = |state, at| handle_session_event(state, SessionLoopEvent::TurnEnded(turn_end("hm")), &moment_at(at));
    let (state, answer) = stops(state, 14_999);
    let with_notice = |notice| SessionDecision { notices: vec![notice], ..SessionDecision::allow_silently() };
    assert_eq!((answer, state.current_iteration()), (with_notice(SessionNotice::recovering_from_error(1, 5)), 1));
    let (state, answer) = stops(state, 15_000);
    assert!(continuation_prompt(&answer).contains("ITERATION 2/5"));
    assert_eq!(state.recovering_until, None);
}

// spec: H5
#[test]
fn a_clock_that_was_set_back_does_not_leave_a_session_alone_forever() {
    let error = SessionLoopEvent::SessionError { name: "APIError".to_string() };
    let (state, _) = handle_session_event(started_loop(5), error, &moment_at(1_000_000));
    continuation_prompt(&handle_session_event(state, SessionLoopEvent::TurnEnded(turn_end("hm")), &moment_at(10)).1);
}

// spec: H5
// fault: 113
#[test]
fn the_same_stop_reported_twice_is_handled_once() {
    let stop = || SessionLoopEvent::TurnEnded(TurnEnd { stop_id: Some("stop-1".to_string()), ..turn_end("hm") });
    let (state, answer) = handle_session_event(started_loop(5), stop(), &moment_at(1));
    continuation_prompt(&answer);
    let (state, answer) = handle_session_event(state, stop(), &moment_at(2));
    let expected =
        SessionDecision { notices: vec![SessionNotice::already_answered(2, 5)], ..SessionDecision::allow_silently() };
    assert_eq!((answer, state.current_iteration()), (expected, 2));
    let next = SessionLoopEvent::TurnEnded(TurnEnd { stop_id: Some("stop-2".to_string()), ..turn_end("hm") });
    continuation_prompt(&handle_session_event(state, next, &moment_at(3)).1);
}

// spec: H5
// fault: 113
#[test]
fn a_finished_loop_allows_every_stop() {
    let (over, _) = after_message(started_loop(5), "<promise>DONE</promise>");
    for event in [
        SessionLoopEvent::TurnEnded(turn_end("x")),
        SessionLoopEvent::SessionDeleted,
        SessionLoopEvent::Cancelled,
        SessionLoopEvent::StillChecking { done: 0, total: 1 },
    ] {
        assert_eq!(
            handle_session_event(over.clone(), event, &moment_at(9)),
            (over.clone(), SessionDecision::allow_silently())
        );
    }
}

// spec: H3, H7
#[test]
fn a_cancelled_loop_reports_the_iteration_at_which_it_stopped() {
    let (state, _) = after_message(started_loop(5), "hm");
    let (state, answer) = handle_session_event(state, SessionLoopEvent::Cancelled, &moment_at(9));
    assert_eq!(answer.notices[0].message, "Stopped at iteration 2");
    assert_eq!((answer.notices[0].title.as_str(), state.is_active()), ("Ralph Loop Cancelled", false));
    assert_eq!(SessionNotice::no_active_loop().title, "No Active Loop");
    assert_eq!(SessionNotice::no_active_loop().message, "No Ralph Loop is currently running");
}

// spec: H4
#[test]
fn a_loop_is_abandoned_a_day_after_its_time_limit() {
    const DAY_MS: i64 = 86_400_000;
    let policy = Policy { budget: Budget { max_duration_ms: Some(500), ..Budget::default() }, ..Policy::new(9) };
    let state = start_session_loop(SessionLoopPlan { policy, ..loop_plan(9) }, &moment_at(0)).state;
    assert!(!state.is_abandoned(UnixMillis(DAY_MS + 500)));
    assert!(state.is_abandoned(UnixMillis(DAY_MS + 501)));
    assert!(!started_loop(9).is_abandoned(UnixMillis(i64::MAX)), "it has no time limit");
    let (ended, _) = handle_session_event(state, SessionLoopEvent::Cancelled, &moment_at(1));
    assert!(!ended.is_abandoned(UnixMillis(DAY_MS + 501)));
}

// spec: H6, S7
#[test]
fn the_checks_of_a_session_loop_decide_about_proof_and_contradictions() {
    use crate::policy::{BaselineMode, ClaimVerification, ContextMode, ContradictionRule};
    let rules = |state: &SessionLoop| {
        let policy = &state.machine.policy;
        assert_eq!((policy.baseline, policy.context), (BaselineMode::Run, ContextMode::Continue));
        (policy.proof, policy.contradictions)
    };
    assert_eq!(rules(&started_loop(5)), (ClaimVerification::ClaimAlone, ContradictionRule::Reject));
    assert_eq!(rules(&loop_with_checks(5)), (ClaimVerification::Checks, ContradictionRule::Warn));
}

// spec: H6, S9
#[test]
fn with_a_nonce_only_the_promise_of_this_iteration_is_a_claim() {
    let policy = Policy { nonce: crate::policy::NonceUse::EachIteration, ..Policy::new(9) };
    let state = start_session_loop(SessionLoopPlan { policy, ..loop_plan(9) }, &moment_at(0)).state;
    let prompt = state.first_prompt();
    let tag_start = prompt.find("<promise id=").unwrap();
    let tag = prompt[tag_start..].lines().next().unwrap();
    assert_eq!(after_message(state.clone(), "<promise>DONE</promise>").0.current_iteration(), 2);
    assert_eq!(loop_outcome(&after_message(state, tag).0), Some(Outcome::Completed), "{tag}");
}

// spec: H7
#[test]
fn a_notice_in_one_line_is_title_and_message() {
    assert_eq!(SessionNotice::iteration_started(2, 5).to_line(), "Ralph Loop: Iteration 2/5");
    let (_, answer) = after_message(started_loop(5), "<promise>DONE</promise>");
    assert_eq!(
        answer.notices[0].to_line(),
        "Ralph Loop Complete! Task completed after 1 iteration(s): nothing was verified, only the agent's word supports it"
    );
}

// spec: H4, D1
// finding: N34
#[test]
fn the_journal_of_a_loop_starts_with_its_start_its_seal_and_its_first_iteration() {
    let names = |plan: SessionLoopPlan| -> Vec<&'static str> {
        start_session_loop(with_proof(plan), &moment_at(0)).facts.iter().map(crate::fact::Fact::name).collect()
    };
    assert_eq!(names(loop_plan(3)), ["run.started", "iteration.started", "attempt.started"]);
    let criteria = vec![command_criterion("make test")];
    let with_checks = names(SessionLoopPlan { criteria, sealing: sealing_with_digest("d"), ..loop_plan(3) });
    assert_eq!(with_checks, ["run.started", "run.sealed", "iteration.started", "attempt.started"]);
}

// spec: H4
// finding: N34
#[test]
fn a_loop_that_was_not_recorded_can_be_recorded_from_its_current_iteration() {
    let (state, _) = after_message(started_loop(5), "on it");
    let facts = state.opening_facts("claude");
    let names: Vec<&str> = facts.iter().map(crate::fact::Fact::name).collect();
    let first = ["run.started", "iteration.started", "attempt.started", "iteration.ended"];
    assert_eq!(names, [&first[..], &["iteration.started", "attempt.started"]].concat());
    assert_eq!(facts[4], crate::fact::Fact::IterationStarted { iteration: 2 });
}
