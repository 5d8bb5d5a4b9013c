//! Tests of the continuation limit of hosts.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::tests::*;
use super::*;
use crate::evidence::Verdict;

fn tool_cap(max_continuations: u32) -> ContinuationCap {
    ContinuationCap { max_continuations, reset_rule: CapResetRule::OnToolUse }
}

fn capped_turn_end(message: &str, is_continuation: bool) -> SessionLoopEvent {
    SessionLoopEvent::TurnEnded(TurnEnd { is_continuation, cap: Some(tool_cap(3)), ..turn_end(message) })
}

// spec: H6
#[test]
fn the_last_continuation_a_host_allows_is_announced_and_is_not_a_completion() {
    let mut state = started_loop(50);
    let mut notices = Vec::new();
    for turn in 0..3 {
        let (next, answer) = handle_session_event(state, capped_turn_end("no tool call", turn > 0), &moment_at(turn));
        continuation_prompt(&answer);
        (state, notices) = (next, answer.notices);
    }
    assert_eq!(notices[1], SessionNotice::host_cap_reached(3, false));
    assert!(state.is_active() && loop_outcome(&state).is_none());
    let (state, answer) = handle_session_event(state, capped_turn_end("the user said something", false), &moment_at(9));
    assert_eq!((state.blocks, answer.notices.len()), (1, 1), "a user message resets the count");
}

// spec: H6
#[test]
fn the_cap_is_announced_after_a_rejected_claim_too() {
    let claim =
        || SessionLoopEvent::TurnEnded(TurnEnd { cap: Some(tool_cap(1)), ..turn_end("<promise>DONE</promise>") });
    let (state, _) = handle_session_event(loop_with_checks(9), claim(), &moment_at(1));
    let (_, answer) = handle_session_event(state, verified_event(Verdict::Rejected, "2 tests fail"), &moment_at(2));
    assert_eq!(answer.notices[1], SessionNotice::host_cap_reached(1, false));
}

// spec: H6
#[test]
fn a_session_that_continues_beyond_the_cap_has_used_a_tool() {
    let mut state = started_loop(50);
    for turn in 0..4 {
        (state, _) = handle_session_event(state, capped_turn_end("working", turn > 0), &moment_at(turn));
    }
    assert_eq!(state.blocks, 1);
}

// spec: H4
// fault: 114
#[test]
fn a_stored_loop_is_read_back_unchanged() {
    let mut state = loop_with_checks(5);
    state.prompt = "---\r\n\"quoted\" $HOME \\ \u{0}\n---".to_string();
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<SessionLoop>(&text).unwrap(), state);
    let (verifying, _) = after_message(state, "<promise>DONE</promise>");
    let text: String = serde_json::to_string(&verifying).unwrap();
    assert_eq!(serde_json::from_str::<SessionLoop>(&text).unwrap(), verifying);
}

// spec: H6
#[test]
fn a_session_that_uses_tools_gets_no_notice_of_a_tool_cap() {
    let mut state = started_loop(100);
    for turn in 0..9 {
        let turn_end = TurnEnd {
            is_continuation: turn > 0,
            cap: Some(tool_cap(3)),
            has_used_tools: Some(true),
            ..turn_end("on it")
        };
        let (next, answer) = handle_session_event(state, SessionLoopEvent::TurnEnded(turn_end), &moment_at(turn));
        assert_eq!(answer.notices.len(), 1, "{turn}: {answer:?}");
        state = next;
    }
    let (_, answer) = handle_session_event(
        state,
        SessionLoopEvent::TurnEnded(TurnEnd {
            is_continuation: true,
            cap: Some(tool_cap(1)),
            has_used_tools: Some(false),
            ..turn_end("hm")
        }),
        &moment_at(10),
    );
    assert_eq!(answer.notices[1], SessionNotice::host_cap_reached(1, false));
}

// spec: H6
#[test]
fn a_cap_that_only_the_user_resets_does_not_ask_for_a_tool_call() {
    let mut state = started_loop(100);
    let cap = Some(ContinuationCap { max_continuations: 2, reset_rule: CapResetRule::OnUserMessage });
    let mut last = SessionDecision::allow_silently();
    for turn in 0..2 {
        let turn_end = TurnEnd { is_continuation: turn > 0, cap, has_used_tools: Some(true), ..turn_end("on it") };
        (state, last) = handle_session_event(state, SessionLoopEvent::TurnEnded(turn_end), &moment_at(turn));
    }
    assert_eq!(last.notices[1], SessionNotice::host_cap_reached(2, true));
    let SessionAction::Continue { prompt } = &last.action else { panic!("{last:?}") };
    assert!(!prompt.contains("unless you use a tool"), "{prompt}");
    assert!(!last.notices[1].message.contains("tool"), "{last:?}");
    assert!(state.is_active());
}

// spec: H6
#[test]
fn check_rounds_are_counted_for_each_claim_separately() {
    let mut state = loop_with_checks(100);
    for round in 0..5 {
        let (claimed, answer) = after_message(state, "<promise>DONE</promise>");
        assert_eq!(answer.action, SessionAction::RunChecks, "{round}");
        let (waiting, answer) =
            handle_session_event(claimed, SessionLoopEvent::StillChecking { done: 1, total: 2 }, &moment_at(round));
        let SessionAction::Continue { prompt } = &answer.action else { panic!("{answer:?}") };
        assert!(prompt.contains("STILL CHECKING"), "{round}: {prompt}");
        (state, _) = after_message(waiting, "I continue with the work.");
    }
}

// spec: H6
#[test]
fn the_rounds_of_a_rejected_claim_do_not_count_for_the_next_one() {
    let wait =
        |state, at| handle_session_event(state, SessionLoopEvent::StillChecking { done: 1, total: 1 }, &moment_at(at));
    let (claimed, _) = after_message(loop_with_checks(9), "<promise>DONE</promise>");
    let (waiting, _) = wait(claimed, 1);
    let (claimed, _) = after_message(waiting, "<promise>DONE</promise>");
    let (rejected, _) = handle_session_event(claimed, verified_event(Verdict::Rejected, "2 tests fail"), &moment_at(2));
    let (claimed, _) = after_message(rejected, "<promise>DONE</promise>");
    let (_, answer) = wait(claimed, 3);
    assert!(continuation_prompt(&answer).contains("STILL CHECKING"), "{answer:?}");
    assert_eq!(answer.notices[0].message, "Still checking: 1 of 1 checks have passed");
}
