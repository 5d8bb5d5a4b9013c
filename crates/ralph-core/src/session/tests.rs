//! The rules of a loop in a session, one sentence each.
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::attempt::Spend;
use crate::budget::Budget;
use crate::claim::{ClaimRules, Promise};
use crate::criterion::{Criterion, ExternalCheck};
use crate::event::Millis;
use crate::evidence::{CheckEvidence, Evidence, Kind, Verdict};
use crate::outcome::Outcome;
use crate::policy::Policy;
use crate::seal::{Seal, Sealing};

fn moment(at: i64) -> Moment {
    Moment { at: Millis(at), dice: 7 }
}

fn plan(max: u32) -> Plan {
    Plan {
        prompt: "Fix the parser.".to_string(),
        rules: ClaimRules::new(Promise::parse("DONE").unwrap()),
        criteria: Vec::new(),
        policy: Policy::new(max),
        sealing: None,
    }
}

fn sealed(digest: &str) -> Option<Sealing> {
    let seal = Seal {
        digest: digest.to_string(),
        criteria_digest: "c".to_string(),
        base: None,
        files: Vec::new(),
        git: Vec::new(),
        allowed: crate::seal::Allowed::default(),
        uncommitted: Vec::new(),
        notes: Vec::new(),
    };
    Some(Sealing::Done { seal })
}

fn checked(max: u32) -> SessionLoop {
    let criteria = vec![command("make test"), command("make lint")];
    begin(Plan { criteria, sealing: sealed("d"), ..plan(max) }, &moment(0))
}

fn command(text: &str) -> Criterion {
    ExternalCheck::of_command(text).into()
}

fn started(max: u32) -> SessionLoop {
    begin(plan(max), &moment(0))
}

fn idle(message: &str) -> Idle {
    Idle { message: Some(message.to_string()), session: "s1".to_string(), ..Idle::default() }
}

fn says(state: SessionLoop, message: &str) -> (SessionLoop, Answer) {
    decide(state, Happening::Idle(idle(message)), &moment(1_000))
}

// spec: H4
// fault: 113
#[test]
fn the_same_beginning_twice_is_one_loop_and_another_one_is_not() {
    let first = checked(5);
    let later = |at: i64| {
        begin(Plan { sealing: sealed("d"), criteria: first.criteria.clone(), ..plan(5) }, &moment(at))
    };
    assert!(first.is_echoed_by(&later(0)) && first.is_echoed_by(&later(10_000)));
    assert!(!first.is_echoed_by(&later(10_001)), "somebody wants it begun anew");
    let others = [
        Plan {
            prompt: "Fix the lexer.".to_string(),
            sealing: sealed("d"),
            criteria: first.criteria.clone(),
            ..plan(5)
        },
        Plan { sealing: sealed("d"), criteria: first.criteria.clone(), ..plan(6) },
        Plan { sealing: sealed("d"), criteria: vec![command("make test")], ..plan(5) },
        Plan { sealing: sealed("changed"), criteria: first.criteria.clone(), ..plan(5) },
    ];
    for other in others {
        let other = begin(other, &moment(1));
        assert!(!first.is_echoed_by(&other), "{other:?}");
    }
    let (stopped, _) = says(first.clone(), "on it");
    assert!(!stopped.is_echoed_by(&later(1_001)), "it has gone on since");
    let (over, _) = decide(first.clone(), Happening::Cancelled, &moment(1));
    assert!(!over.is_echoed_by(&later(2)));
}

#[track_caller]
fn continued(answer: &Answer) -> &str {
    match &answer.act {
        Act::Continue { prompt } => prompt,
        Act::Allow | Act::Verify => panic!("it was not continued: {answer:?}"),
    }
}

fn evidence(verdict: Verdict, reason: &str) -> Happening {
    let check = CheckEvidence::plain(Kind::External, "make test".into(), verdict, reason.into());
    Happening::Verified(Evidence { checks: vec![check] })
}

fn outcome(state: &SessionLoop) -> Option<Outcome> {
    state.machine.ended().map(|ended| ended.outcome)
}

// spec: H3, H5
#[test]
fn a_loop_starts_at_iteration_1_and_tells_how_to_end_it() {
    let state = started(100);
    assert!(state.is_active());
    assert_eq!((state.iteration(), state.max_iterations()), (1, 100));
    let prompt = state.first_prompt();
    assert!(prompt.starts_with("Fix the parser.") && prompt.contains("<promise>DONE</promise>"), "{prompt}");
    let notice = Notice::started(100, "DONE");
    assert_eq!(notice.message, "Max 100 iterations. Complete with <promise>DONE</promise>");
    assert_eq!((notice.title.as_str(), notice.duration), ("Ralph Loop Started", Some(3_000)));
}

// spec: H5, V2
#[test]
fn the_notice_of_the_start_names_each_check_and_recites_no_script() {
    let script =
        Criterion { name: Some("files-exist".to_string()), ..command("for file; do\n  test -s $file; done") };
    let notice = Notice::started(9, "DONE").checked_by(&[command("make test"), script]);
    let named = "Complete with <promise>DONE</promise>, checked by `make test` and `files-exist`";
    assert!(notice.message.ends_with(named), "{}", notice.message);
}

// spec: H5, H7, L4
#[test]
fn a_session_that_stops_without_a_claim_is_continued_with_the_next_iteration() {
    let (state, answer) = says(started(5), "I think I am done.");
    let prompt = continued(&answer);
    assert!(
        prompt.starts_with("[RALPH LOOP - ITERATION 2/5]\n\nYour previous attempt did not output"),
        "{prompt}"
    );
    assert!(prompt.ends_with("Original task:\nFix the parser."), "{prompt}");
    assert_eq!(answer.notices, [Notice::iteration(2, 5)]);
    assert_eq!(answer.notices[0].message, "Iteration 2/5");
    assert_eq!((state.iteration(), state.last_iteration), (2, Some(Millis(1_000))));
}

// spec: H5, H7
#[test]
fn a_claim_ends_a_loop_that_has_no_checks() {
    let (state, answer) = says(started(5), "All done! <promise>DONE</promise>");
    assert_eq!(answer.act, Act::Allow);
    assert_eq!(answer.notices[0].title, "Ralph Loop Complete!");
    assert_eq!(answer.notices[0].message, "Task completed after 1 iteration(s)");
    assert_eq!((answer.notices[0].variant, answer.notices[0].duration), (Variant::Success, Some(5_000)));
    assert_eq!((state.is_active(), outcome(&state)), (false, Some(Outcome::Completed)));
}

// spec: H6, S3
#[test]
fn claims_are_read_as_everywhere() {
    for words in [
        "Not done: I will print <promise>DONE</promise> when the tests pass.",
        "`<promise>DONE</promise>` is what I must print.",
        "<promise>OTHER</promise>",
        "",
    ] {
        assert_eq!(says(started(5), words).0.iteration(), 2, "{words}");
    }
    let (_, answer) = says(started(5), "<promise>DONE</promise>\n\nTODO: the lexer is not yet implemented.");
    assert!(continued(&answer).contains("Your completion claim was rejected"), "{answer:?}");
}

// spec: H6, V1
#[test]
fn a_claim_is_checked_where_there_are_checks_and_only_they_complete_it() {
    let (state, answer) = says(checked(5), "<promise>DONE</promise>");
    assert_eq!((answer.act, state.is_active()), (Act::Verify, true));
    let (rejected, answer) =
        decide(state.clone(), evidence(Verdict::Rejected, "2 tests fail"), &moment(2_000));
    assert!(continued(&answer).contains("Your completion claim was rejected: `make test`: 2 tests fail."));
    assert_eq!((rejected.iteration(), rejected.is_active()), (2, true));
    let (accepted, answer) = decide(state, evidence(Verdict::Accepted, "ok"), &moment(2_000));
    assert_eq!((answer.act, outcome(&accepted)), (Act::Allow, Some(Outcome::Completed)));
}

// spec: H6, V7
#[test]
fn checks_that_cannot_be_evaluated_twice_end_the_loop_as_blocked() {
    let blind = |state| {
        decide(
            says(state, "<promise>DONE</promise>").0,
            evidence(Verdict::CouldNotEvaluate, "no make"),
            &moment(9),
        )
    };
    let (state, _) = blind(checked(9));
    let (state, answer) = blind(state);
    assert_eq!((answer.act, outcome(&state)), (Act::Allow, Some(Outcome::Blocked)));
    assert_eq!(answer.notices[0].title, "Ralph Loop Stopped");
}

// spec: H6
#[test]
fn checks_that_were_cut_short_are_begun_again_with_the_next_claim_and_forgotten_without_one() {
    let (verifying, _) = says(checked(5), "<promise>DONE</promise>");
    let (state, answer) = says(verifying.clone(), "<promise>DONE</promise>");
    assert_eq!((answer.act, state.iteration()), (Act::Verify, 1));
    let (state, answer) = says(verifying, "I found another problem.");
    assert!(continued(&answer).contains("ITERATION 2/5"));
    assert_eq!(state.iteration(), 2);
}

// spec: H6
#[test]
fn a_session_whose_checks_are_not_through_is_asked_to_keep_still_in_the_same_iteration() {
    let (verifying, _) = says(checked(5), "<promise>DONE</promise>");
    let (state, answer) = decide(verifying, Happening::StillChecking { done: 1, of: 2 }, &moment(9));
    let prompt = continued(&answer);
    assert!(prompt.contains("1 of 2 checks have passed") && prompt.contains("\n<promise>DONE</promise>\n"));
    assert_eq!(state.iteration(), 1);
    assert_eq!(says(state, "<promise>DONE</promise>").1.act, Act::Verify);
}

// spec: H6
#[test]
fn checks_that_never_get_through_are_given_up() {
    let mut state = checked(5);
    for _ in 0..2 {
        let (verifying, _) = says(state, "<promise>DONE</promise>");
        (state, _) = decide(verifying, Happening::StillChecking { done: 1, of: 2 }, &moment(9));
        assert_eq!(state.iteration(), 1);
    }
    let (verifying, _) = says(state, "<promise>DONE</promise>");
    let (state, answer) = decide(verifying, Happening::StillChecking { done: 1, of: 2 }, &moment(9));
    assert!(continued(&answer).contains("the files change meanwhile"), "{answer:?}");
    assert_eq!(state.iteration(), 2);
}

// spec: H4
#[test]
fn what_cannot_be_sealed_never_begins() {
    let sealing = Some(Sealing::Impossible { why: "no git".to_string() });
    let criteria = vec![command("true")];
    let state = begin(Plan { criteria, sealing, ..plan(3) }, &moment(0));
    assert!(!state.is_active());
    assert!(state.machine.ended().unwrap().reason.contains("no git"));
}

// spec: H5, H7, L3
// fault: 116
#[test]
fn the_own_maximum_ends_the_loop_and_a_claim_on_the_last_iteration_counts() {
    let (state, _) = says(started(2), "going on");
    let (stopped, answer) = says(state.clone(), "still going on");
    assert_eq!((answer.act.clone(), outcome(&stopped)), (Act::Allow, Some(Outcome::Exhausted)));
    let notice = &answer.notices[0];
    assert_eq!(notice.message, "Max iterations (2) reached without completion");
    assert_eq!((notice.title.as_str(), notice.variant), ("Ralph Loop Stopped", Variant::Warning));
    assert_eq!(outcome(&says(state, "<promise>DONE</promise>").0), Some(Outcome::Completed));
}

// spec: H5, S6
#[test]
fn an_agent_that_is_blocked_may_stop() {
    let (state, answer) = says(started(5), "<blocked>I need the API key</blocked>");
    assert_eq!((answer.act, outcome(&state)), (Act::Allow, Some(Outcome::Blocked)));
    assert!(answer.notices[0].message.contains("I need the API key"));
}

// spec: H6, L8
#[test]
fn a_budget_that_is_used_up_ends_the_loop() {
    let policy = Policy { budget: Budget { max_tokens: Some(100), ..Budget::default() }, ..Policy::new(9) };
    let state = begin(Plan { policy, ..plan(9) }, &moment(0));
    let spend = |tokens| Spend { output_tokens: Some(tokens), ..Spend::default() };
    let stop = |tokens| Happening::Idle(Idle { spend: spend(tokens), ..idle("on it") });
    let (state, answer) = decide(state, stop(60), &moment(1));
    continued(&answer);
    let (state, answer) = decide(state, stop(60), &moment(2));
    assert_eq!((answer.act, outcome(&state)), (Act::Allow, Some(Outcome::OverBudget)));
    let policy =
        Policy { budget: Budget { max_duration_ms: Some(500), ..Budget::default() }, ..Policy::new(9) };
    let late = says(begin(Plan { policy, ..plan(9) }, &moment(0)), "on it");
    assert_eq!(outcome(&late.0), Some(Outcome::OverBudget));
}

// spec: H5
#[test]
fn an_abort_of_the_user_clears_the_loop() {
    for name in ["MessageAbortedError", "AbortError"] {
        let (state, answer) = decide(started(5), Happening::Error { name: name.to_string() }, &moment(1));
        assert_eq!(
            (answer, state.is_active()),
            (Answer { facts: answer_facts(&state), ..Answer::silent() }, false)
        );
    }
}

fn answer_facts(_: &SessionLoop) -> Vec<crate::fact::Fact> {
    decide(started(5), Happening::Deleted, &moment(1)).1.facts
}

// spec: H5
#[test]
fn a_session_that_is_gone_has_no_loop() {
    let (state, answer) = decide(started(5), Happening::Deleted, &moment(1));
    assert_eq!(
        (state.is_active(), answer.notices.len(), outcome(&state)),
        (false, 0, Some(Outcome::Cancelled))
    );
}

// spec: H5
#[test]
fn after_another_error_idle_means_nothing_for_five_seconds() {
    let error = Happening::Error { name: "APIError".to_string() };
    let (state, answer) = decide(started(5), error, &moment(10_000));
    assert_eq!(answer, Answer::silent());
    let stops = |state, at| decide(state, Happening::Idle(idle("hm")), &moment(at));
    let (state, answer) = stops(state, 14_999);
    let told = |notice| Answer { notices: vec![notice], ..Answer::silent() };
    assert_eq!((answer, state.iteration()), (told(Notice::recovering(1, 5)), 1));
    let (state, answer) = stops(state, 15_000);
    assert!(continued(&answer).contains("ITERATION 2/5"));
    assert_eq!(state.recovering_until, None);
}

// spec: H5
#[test]
fn a_clock_that_went_back_does_not_leave_a_session_alone_for_ever() {
    let error = Happening::Error { name: "APIError".to_string() };
    let (state, _) = decide(started(5), error, &moment(1_000_000));
    continued(&decide(state, Happening::Idle(idle("hm")), &moment(10)).1);
}

// spec: H5
// fault: 113
#[test]
fn the_same_stop_told_twice_is_answered_once() {
    let stop = || Happening::Idle(Idle { stop: Some("stop-1".to_string()), ..idle("hm") });
    let (state, answer) = decide(started(5), stop(), &moment(1));
    continued(&answer);
    let (state, answer) = decide(state, stop(), &moment(2));
    let told = Answer { notices: vec![Notice::answered(2, 5)], ..Answer::silent() };
    assert_eq!((answer, state.iteration()), (told, 2));
    let next = Happening::Idle(Idle { stop: Some("stop-2".to_string()), ..idle("hm") });
    continued(&decide(state, next, &moment(3)).1);
}

// spec: H5
// fault: 113
#[test]
fn a_loop_that_is_over_lets_every_stop_pass() {
    let (over, _) = says(started(5), "<promise>DONE</promise>");
    for happening in [
        Happening::Idle(idle("x")),
        Happening::Deleted,
        Happening::Cancelled,
        Happening::StillChecking { done: 0, of: 1 },
    ] {
        assert_eq!(decide(over.clone(), happening, &moment(9)), (over.clone(), Answer::silent()));
    }
}

// spec: H3, H7
#[test]
fn a_cancelled_loop_says_where_it_stopped() {
    let (state, _) = says(started(5), "hm");
    let (state, answer) = decide(state, Happening::Cancelled, &moment(9));
    assert_eq!(answer.notices[0].message, "Stopped at iteration 2");
    assert_eq!((answer.notices[0].title.as_str(), state.is_active()), ("Ralph Loop Cancelled", false));
    assert_eq!(Notice::none_active().title, "No Active Loop");
    assert_eq!(Notice::none_active().message, "No Ralph Loop is currently running");
}

fn until_tool(most: u32) -> Cap {
    Cap { most, counting: Counting::UntilTool }
}

fn capped(message: &str, is_continued: bool) -> Happening {
    Happening::Idle(Idle { is_continued, cap: Some(until_tool(3)), ..idle(message) })
}

// spec: H6
#[test]
fn the_last_continuation_that_a_host_allows_is_told_and_is_no_completion() {
    let mut state = started(50);
    let mut notices = Vec::new();
    for turn in 0..3 {
        let (next, answer) = decide(state, capped("no tool call", turn > 0), &moment(turn));
        continued(&answer);
        (state, notices) = (next, answer.notices);
    }
    assert_eq!(notices[1], Notice::host_cap(3, false));
    assert!(state.is_active() && outcome(&state).is_none());
    let (state, answer) = decide(state, capped("the user said something", false), &moment(9));
    assert_eq!((state.blocks, answer.notices.len()), (1, 1), "a new turn is counted anew");
}

// spec: H6
#[test]
fn the_cap_is_told_also_where_a_claim_was_rejected() {
    let claim = || Happening::Idle(Idle { cap: Some(until_tool(1)), ..idle("<promise>DONE</promise>") });
    let (state, _) = decide(checked(9), claim(), &moment(1));
    let (_, answer) = decide(state, evidence(Verdict::Rejected, "2 tests fail"), &moment(2));
    assert_eq!(answer.notices[1], Notice::host_cap(1, false));
}

// spec: H6
#[test]
fn a_session_that_goes_on_past_the_cap_has_worked_in_between() {
    let mut state = started(50);
    for turn in 0..4 {
        (state, _) = decide(state, capped("working", turn > 0), &moment(turn));
    }
    assert_eq!(state.blocks, 1);
}

// spec: H4
// fault: 114
#[test]
fn a_stored_loop_is_read_back_as_it_was() {
    let mut state = checked(5);
    state.prompt = "---\r\n\"quoted\" $HOME \\ \u{0}\n---".to_string();
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(serde_json::from_str::<SessionLoop>(&text).unwrap(), state);
    let (verifying, _) = says(state, "<promise>DONE</promise>");
    let text: String = serde_json::to_string(&verifying).unwrap();
    assert_eq!(serde_json::from_str::<SessionLoop>(&text).unwrap(), verifying);
}

// spec: H6
#[test]
fn a_session_that_works_with_tools_is_never_told_of_a_cap_that_counts_turns_without_them() {
    let mut state = started(100);
    for turn in 0..9 {
        let idle = Idle {
            is_continued: turn > 0,
            cap: Some(until_tool(3)),
            has_worked: Some(true),
            ..idle("on it")
        };
        let (next, answer) = decide(state, Happening::Idle(idle), &moment(turn));
        assert_eq!(answer.notices.len(), 1, "{turn}: {answer:?}");
        state = next;
    }
    let (_, answer) = decide(
        state,
        Happening::Idle(Idle {
            is_continued: true,
            cap: Some(until_tool(1)),
            has_worked: Some(false),
            ..idle("hm")
        }),
        &moment(10),
    );
    assert_eq!(answer.notices[1], Notice::host_cap(1, false));
}

// spec: H6
#[test]
fn a_cap_that_counts_whatever_the_agent_does_asks_for_no_tool() {
    let mut state = started(100);
    let cap = Some(Cap { most: 2, counting: Counting::UntilUser });
    let mut last = Answer::silent();
    for turn in 0..2 {
        let idle = Idle { is_continued: turn > 0, cap, has_worked: Some(true), ..idle("on it") };
        (state, last) = decide(state, Happening::Idle(idle), &moment(turn));
    }
    assert_eq!(last.notices[1], Notice::host_cap(2, true));
    let Act::Continue { prompt } = &last.act else { panic!("{last:?}") };
    assert!(!prompt.contains("unless you use a tool"), "{prompt}");
    assert!(!last.notices[1].message.contains("tool"), "{last:?}");
    assert!(state.is_active());
}

// spec: H6
#[test]
fn rounds_of_checking_of_different_claims_do_not_add_up() {
    let mut state = checked(100);
    for round in 0..5 {
        let (claimed, answer) = says(state, "<promise>DONE</promise>");
        assert_eq!(answer.act, Act::Verify, "{round}");
        let (still, answer) = decide(claimed, Happening::StillChecking { done: 1, of: 2 }, &moment(round));
        let Act::Continue { prompt } = &answer.act else { panic!("{answer:?}") };
        assert!(prompt.contains("STILL CHECKING"), "{round}: {prompt}");
        (state, _) = says(still, "I go on working.");
    }
}
