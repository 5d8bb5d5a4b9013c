//! Loop groups.
use super::*;
use crate::outcome::Outcome;
use crate::prompt::RejectionFeedback;

/// A group `g` of an agent `work` and a command `test` behind it.
fn with_group(control: LoopControl) -> TestRun {
    TestRun::of(vec![group("g", &[], control, vec![agent("work", &[]), bash("test", &["work"])]), bash("next", &["g"])])
}

fn iterate(run: &mut TestRun, output: &str) {
    run.complete("g/work", "worked");
    run.complete("g/test", output);
}

fn iteration(run: &TestRun) -> Option<u32> {
    run.state.group_progress(run.index("g")).map(|progress| progress.iteration)
}

fn notices(run: &TestRun) -> Vec<&GraphNotice> {
    run.effects
        .iter()
        .filter_map(|effect| if let GraphEffect::Announce(notice) = effect { Some(notice) } else { None })
        .collect()
}

// spec: W4
#[test]
fn a_group_runs_all_its_nodes_in_each_iteration_until_the_signal() {
    let mut run = with_group(until_done(5));
    assert_eq!(run.running(), ["g/work"]);
    iterate(&mut run, "not yet");
    assert_eq!((run.running(), iteration(&run)), (vec!["g/work"], Some(2)));
    iterate(&mut run, "all fine\nDONE");
    assert_eq!((run.outcome("g").as_str(), run.running()), ("completed all fine\nDONE", vec!["next"]));
}

// spec: W4, S5
#[test]
fn a_group_takes_the_signal_as_a_tag_or_a_line_and_not_inside_a_sentence() {
    for (output, is_done) in [
        ("<promise>DONE</promise>", true),
        ("ready\nDONE\n", true),
        ("INDONE", false),
        ("not DONE yet", false),
        ("", false),
    ] {
        let mut run = with_group(until_done(5));
        iterate(&mut run, output);
        assert_eq!(run.outcome("g") != "open", is_done, "{output}");
    }
}

// spec: W4, W7
#[test]
fn a_group_that_reaches_its_limit_fails_with_its_signal() {
    let mut run = with_group(until_done(2));
    iterate(&mut run, "");
    iterate(&mut run, "");
    let reason = "Max iterations (2) reached without completion signal \"DONE\"";
    assert_eq!(run.outcome("g"), format!("failed: {reason}"));
    let node = run.index("g");
    assert_eq!(notices(&run), [&GraphNotice::LoopIncomplete { node, reason: reason.to_string() }]);
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Failed));
}

// spec: W4
#[test]
fn a_signal_in_the_last_iteration_counts() {
    let mut run = with_group(until_done(1));
    iterate(&mut run, "DONE");
    assert_eq!(run.outcome("g"), "completed DONE");
}

// spec: W8
#[test]
fn iterations_and_the_end_of_a_group_are_announced() {
    let mut run = with_group(until_done(5));
    let node = run.index("g");
    assert_eq!(notices(&run), [&GraphNotice::Iteration { node, iteration: 1, max_iterations: 5 }]);
    iterate(&mut run, "");
    assert_eq!(notices(&run), [&GraphNotice::Iteration { node, iteration: 2, max_iterations: 5 }]);
    iterate(&mut run, "DONE");
    assert_eq!(notices(&run), [&GraphNotice::LoopCompleted { node, iterations: 2 }]);
}

// spec: W4
#[test]
fn a_failed_node_that_nothing_absorbs_fails_the_group_and_is_named() {
    let mut run = with_group(until_done(5));
    run.complete("g/work", "");
    run.fail("g/test", FailureKind::Permanent);
    assert_eq!(run.outcome("g"), "failed: iteration 1: node test failed: g/test broke");
    let (node, reason) = (run.index("g"), "node test failed: g/test broke".to_string());
    assert_eq!(notices(&run), [&GraphNotice::LoopFailed { node, iteration: 1, reason }]);
}

// spec: W4
#[test]
fn a_failure_that_a_node_of_the_group_absorbs_does_not_end_the_loop() {
    let members = vec![bash("test", &[]), rule(TriggerRule::AllDone, agent("fix", &["test"]))];
    let mut run = TestRun::of(vec![group("g", &[], until_done(5), members)]);
    run.fail("g/test", FailureKind::Permanent);
    run.complete("g/fix", "");
    assert_eq!((run.running(), iteration(&run)), (vec!["g/test"], Some(2)));
}

// spec: W4
#[test]
fn the_output_of_a_group_is_that_of_its_first_sink_that_completed_in_the_last_iteration() {
    let members = vec![bash("a", &[]), bash("b", &[])];
    let mut run = TestRun::of(vec![group("g", &[], until_done(5), members)]);
    run.complete("g/b", "b\nDONE");
    run.complete("g/a", "a");
    run.complete("g/b", "b");
    run.complete("g/a", "a again\nDONE");
    assert_eq!(run.outcome("g"), "completed a again\nDONE");
}

// spec: W4
#[test]
fn nodes_of_a_group_read_the_outputs_of_the_previous_iteration() {
    let mut run = with_group(until_done(5));
    let work = run.index("g/work");
    assert_eq!(run.state.previous_outputs(&run.graph, work), None);
    iterate(&mut run, "first");
    let previous = run.state.previous_outputs(&run.graph, work).unwrap();
    assert_eq!(previous[&NodeId("test".to_string())], crate::workflow::NodeOutput::text("first"));
    run.restart_process();
    assert_eq!(run.state.previous_outputs(&run.graph, work), Some(previous));
    let progress = run.state.group_progress(run.index("g")).unwrap();
    assert_eq!(progress.previous_output.text(), "first");
}

// spec: W4
#[test]
fn conditions_in_a_group_read_nodes_around_it_and_the_previous_iteration() {
    let members = vec![bash("a", &[]), when("$outer.output == 'go' && $LOOP_PREV.a.output == 'x'", bash("b", &["a"]))];
    let mut run = TestRun::of(vec![bash("outer", &[]), group("g", &["outer"], until_done(5), members)]);
    run.complete("outer", "go");
    run.complete("g/a", "x");
    assert_eq!((run.running(), iteration(&run)), (vec!["g/a"], Some(2)), "b was skipped in iteration 1");
    run.complete("g/a", "y");
    assert_eq!(run.running(), ["g/b"]);
}

fn until_command(max_iterations: u32) -> LoopControl {
    LoopControl { until_bash: Some("make test".to_string()), max_iterations, ..LoopControl::default() }
}

const ACCEPTED: IterationVerdict = IterationVerdict::Accepted { proof: ProofLevel::Proven };

const REJECTED: IterationVerdict = IterationVerdict::Rejected { feedback: None };

fn unevaluated() -> IterationVerdict {
    IterationVerdict::CouldNotEvaluate { reason: "make: not found".to_string() }
}

// spec: W4, V16
#[test]
fn until_bash_completes_a_group_with_at_most_checked() {
    let mut run = with_group(until_command(5));
    iterate(&mut run, "out");
    let expected = ActivityAction::RunUntilBash { iteration: 1, output: "out".into() };
    assert_eq!(run.active["g"].1.action, expected);
    run.judge("g", REJECTED);
    assert_eq!(iteration(&run), Some(2));
    iterate(&mut run, "out");
    run.judge("g", ACCEPTED);
    assert_eq!(run.outcome("g"), "completed out");
    run.complete("next", "");
    assert_eq!(run.proof(), Some(ProofLevel::Checked));
}

// spec: W4
#[test]
fn until_bash_does_not_run_once_the_signal_is_given() {
    let mut run = with_group(LoopControl { until: Some("DONE".to_string()), ..until_command(5) });
    iterate(&mut run, "DONE");
    assert_eq!(run.outcome("g"), "completed DONE");
}

// spec: V7
#[test]
fn two_iterations_in_a_row_that_could_not_be_evaluated_fail_the_group_with_the_error() {
    let mut run = with_group(until_command(9));
    for verdict in [unevaluated(), REJECTED, unevaluated(), unevaluated()] {
        assert_eq!(run.outcome("g"), "open");
        iterate(&mut run, "");
        run.judge("g", verdict);
    }
    assert_eq!(run.outcome("g"), "failed: 2 iterations in a row could not be evaluated: make: not found");
}

// spec: W4
#[test]
fn the_checks_of_a_group_decide_about_a_claim() {
    let checks = vec![test_check()];
    let mut run = with_group(LoopControl { checks, ..until_done(5) });
    iterate(&mut run, "no claim");
    assert_eq!(iteration(&run), Some(2), "nothing is verified without a claim");
    iterate(&mut run, "DONE");
    assert_eq!(run.active["g"].1.action, ActivityAction::VerifyGroup { iteration: 2, output: "DONE".into() });
    run.judge("g", REJECTED);
    iterate(&mut run, "DONE");
    run.judge("g", ACCEPTED);
    run.complete("next", "");
    assert_eq!(run.proof(), Some(ProofLevel::Proven));
}

// spec: W4
#[test]
fn the_next_iteration_knows_why_the_completion_was_rejected_and_the_one_after_it_does_not() {
    let feedback_of = |run: &TestRun| run.state.group_progress(run.index("g")).unwrap().feedback.clone();
    let mut run = with_group(LoopControl { checks: vec![test_check()], ..until_done(5) });
    assert_eq!(feedback_of(&run), None);
    iterate(&mut run, "DONE");
    let feedback = Some(RejectionFeedback::rejected_completion("two tests fail".to_string(), "E1".to_string()));
    run.judge("g", IterationVerdict::Rejected { feedback: feedback.clone() });
    assert_eq!((iteration(&run), feedback_of(&run)), (Some(2), feedback));
    iterate(&mut run, "no claim");
    assert_eq!((iteration(&run), feedback_of(&run)), (Some(3), None));
    iterate(&mut run, "DONE");
    run.judge("g", unevaluated());
    let reason = "whether the work is done could not be evaluated: make: not found";
    assert_eq!(feedback_of(&run).unwrap().reason, reason);
}

// spec: W4
#[test]
fn checks_alone_decide_after_every_iteration() {
    let control = LoopControl { checks: vec![test_check()], max_iterations: 5, ..LoopControl::default() };
    let mut run = with_group(control);
    iterate(&mut run, "anything");
    run.judge("g", ACCEPTED);
    assert_eq!(run.outcome("g"), "completed anything");
}

// spec: W4
#[test]
fn until_bash_and_checks_are_asked_one_after_the_other() {
    let mut run = with_group(LoopControl { checks: vec![test_check()], ..until_command(5) });
    iterate(&mut run, "out");
    run.judge("g", ACCEPTED);
    assert_eq!(run.active["g"].1.action, ActivityAction::VerifyGroup { iteration: 1, output: "out".into() });
}

fn interactive() -> LoopControl {
    LoopControl { interactive: true, ..until_done(5) }
}

fn approve(text: &str) -> PersonAnswer {
    PersonAnswer::Approve { text: text.to_string() }
}

// spec: W4
#[test]
fn an_interactive_group_asks_after_an_iteration_and_continues_with_the_answer() {
    let mut run = with_group(interactive());
    iterate(&mut run, "draft");
    assert_eq!((run.running(), run.effects.last()), (vec![], Some(&GraphEffect::Park)));
    run.answer("g", approve("more detail"));
    let progress = run.state.group_progress(run.index("g")).unwrap();
    assert_eq!((progress.iteration, progress.user_input.as_str()), (2, "more detail"));
    assert_eq!(run.running(), ["g/work"]);
}

// spec: W4
#[test]
fn the_signal_completes_an_interactive_group_only_after_the_person_was_asked() {
    let mut run = with_group(interactive());
    iterate(&mut run, "DONE");
    assert_eq!(run.outcome("g"), "open");
    run.answer("g", PersonAnswer::Decide { decision: "continue".to_string(), text: "polish".to_string() });
    iterate(&mut run, "DONE");
    assert_eq!(run.outcome("g"), "completed DONE");
}

// spec: W4
#[test]
fn a_person_completes_an_interactive_group_whose_signal_was_given() {
    let mut run = with_group(interactive());
    iterate(&mut run, "DONE");
    run.answer("g", approve(""));
    assert_eq!(run.outcome("g"), "completed DONE");
}

// spec: W4
#[test]
fn with_signal_completes_the_signal_needs_no_person() {
    let mut run = with_group(LoopControl { signal_completes: true, ..interactive() });
    iterate(&mut run, "DONE");
    assert_eq!(run.outcome("g"), "completed DONE");
}

// spec: W4
#[test]
fn a_gate_after_the_last_iteration_can_complete_the_group_but_not_continue_it() {
    let mut run = with_group(LoopControl { max_iterations: 1, ..interactive() });
    iterate(&mut run, "draft");
    run.answer("g", approve("more"));
    assert!(run.outcome("g").starts_with("failed: Max iterations (1) reached"));
}

fn nested() -> TestRun {
    let inner = group("inner", &["plan"], until_done(3), vec![bash("step", &[])]);
    let outer = group("outer", &[], until_done(3), vec![bash("plan", &[]), inner, bash("end", &["inner"])]);
    TestRun::of(vec![outer])
}

// spec: W3
#[test]
fn a_nested_group_starts_again_in_every_iteration_of_the_outer_one() {
    let mut run = nested();
    for (inner_outputs, outer_output) in [(&["", "DONE"][..], ""), (&["", "", "DONE"][..], "DONE")] {
        run.complete("outer/plan", "");
        for output in inner_outputs {
            run.complete("outer/inner/step", output);
        }
        run.complete("outer/end", outer_output);
    }
    assert_eq!(run.outcome("outer"), "completed DONE");
    let generations: Vec<u32> =
        run.nodes.keys().filter(|(key, _)| key == "outer/inner/step").map(|(_, generation)| *generation).collect();
    assert_eq!(generations, [1, 2, 3, 4, 5], "every iteration has rows of its own");
}

// spec: L13
#[test]
fn a_nested_group_continues_in_its_iteration_after_a_crash() {
    let mut run = nested();
    run.complete("outer/plan", "");
    run.complete("outer/inner/step", "DONE");
    run.complete("outer/end", "");
    run.complete("outer/plan", "");
    run.complete("outer/inner/step", "once");
    run.restart_process();
    assert_eq!(run.running(), ["outer/inner/step"]);
    let inner = run.state.group_progress(run.index("outer/inner")).unwrap();
    assert_eq!((inner.iteration, inner.generation), (2, 3));
    run.complete("outer/inner/step", "DONE");
    run.complete("outer/end", "DONE");
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Completed));
}

// spec: W4
#[test]
fn a_group_whose_nodes_are_all_skipped_still_ends_at_its_limit() {
    let members = vec![when("$INPUTS.mode == 'slow'", bash("a", &[]))];
    let run = TestRun::of(vec![group("g", &[], until_done(3), members)]);
    assert!(run.outcome("g").starts_with("failed: Max iterations (3)"));
}

// spec: L13
#[test]
fn the_judgement_of_an_iteration_runs_again_after_a_crash() {
    let mut run = with_group(until_command(5));
    iterate(&mut run, "out");
    run.restart_process();
    assert!(run.active["g"].1.is_recovery);
    run.judge("g", ACCEPTED);
    assert_eq!(run.outcome("g"), "completed out");
}

// spec: L13, W13
#[test]
fn the_gate_of_a_group_survives_the_process() {
    let mut run = with_group(interactive());
    iterate(&mut run, "draft");
    run.restart_process();
    run.answer("g", approve("more"));
    assert_eq!((run.running(), iteration(&run)), (vec!["g/work"], Some(2)));
}

// spec: W3
#[test]
fn a_cancel_node_in_a_group_ends_the_run() {
    let members = vec![bash("a", &[]), cancel("stop", &["a"]), bash("b", &["a"])];
    let mut run = TestRun::of(vec![group("g", &[], until_done(3), members), bash("other", &[])]);
    run.complete("g/a", "");
    run.end_activity("other", ActivityResult::Stopped);
    assert_eq!(run.end().map(GraphEnd::outcome), Some(Outcome::Cancelled));
    assert!(!run.started.contains(&"g/b".to_string()));
}

// spec: V16
#[test]
fn checks_in_a_group_count_with_their_last_iteration() {
    let mut run = TestRun::of(vec![group("g", &[], until_command(5), vec![checks("verify", &[])])]);
    run.complete_with("g/verify", "", Some(ProofLevel::Unverified));
    run.judge("g", REJECTED);
    run.complete_with("g/verify", "", Some(ProofLevel::Proven));
    run.judge("g", ACCEPTED);
    assert_eq!(run.proof(), Some(ProofLevel::Checked));
}

// spec: V16
#[test]
fn checks_of_a_nested_group_that_was_skipped_in_the_last_iteration_do_not_count() {
    let inner = group("inner", &["a"], until_command(3), vec![checks("verify", &[])]);
    let members = vec![bash("a", &[]), when("$a.output == 'first'", inner), bash("b", &["a"])];
    let mut run = TestRun::of(vec![group("g", &[], until_command(5), members)]);
    run.complete("g/a", "first");
    run.complete("g/b", "");
    run.complete_with("g/inner/verify", "", Some(ProofLevel::Unverified));
    run.judge("g/inner", ACCEPTED);
    run.judge("g", REJECTED);
    run.complete("g/a", "second");
    run.complete("g/b", "");
    run.judge("g", ACCEPTED);
    assert_eq!(run.proof(), Some(ProofLevel::Checked));
}

// spec: W4
#[test]
fn a_failure_that_was_absorbed_in_one_iteration_is_not_absorbed_in_the_next() {
    let fix = rule(TriggerRule::AllDone, when("$flag.output == 'fix'", bash("fix", &["flag", "test"])));
    let mut run = TestRun::of(vec![group("g", &[], until_done(5), vec![bash("flag", &[]), bash("test", &[]), fix])]);
    run.complete("g/flag", "fix");
    run.fail("g/test", FailureKind::Permanent);
    run.complete("g/fix", "");
    assert_eq!(iteration(&run), Some(2));
    run.complete("g/flag", "leave");
    run.fail("g/test", FailureKind::Permanent);
    assert_eq!(run.outcome("g"), "failed: iteration 2: node test failed: g/test broke");
}
