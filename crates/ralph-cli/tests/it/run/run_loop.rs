//! The loop: claims, checks, feedback, limits, retries.
use crate::harness::Project;

// spec: L1, L2, A3, C8
#[test]
fn an_agent_that_claims_completes_the_run_and_the_result_says_that_nothing_was_verified() {
    let project = Project::new();
    let answer = project.run(&["complete"]).output().expect(0);
    let finished = answer.finished();
    assert_eq!(finished["outcome"], "completed");
    assert_eq!(finished["iterations"], 1);
    assert!(finished["reason"].as_str().unwrap().contains("nothing was verified"));
    assert_eq!(project.starts().len(), 1);
}

// spec: L2, L3, C8
#[test]
fn an_agent_that_never_claims_uses_up_its_iterations() {
    let project = Project::new();
    let answer = project.run(&["work"]).args(["--max-iterations", "3", "--fresh"]).output().expect(3);
    assert_eq!(answer.finished()["outcome"], "exhausted");
    assert_eq!(project.starts().len(), 3);
}

// spec: L3
#[test]
fn a_claim_on_the_last_allowed_iteration_counts() {
    let project = Project::new();
    let call = project.run(&["complete-on", "3"]).args(["--max-iterations", "3", "--check", "true"]);
    assert_eq!(call.output().expect(0).finished()["iterations"], 3);
}

// spec: L4, V2, C8
#[test]
fn a_rejected_claim_goes_back_to_the_agent_with_reason_and_evidence() {
    let project = Project::new();
    let script = project.outside("script");
    std::fs::write(&script, "text All done.\\n\\n{promise}\n---\nwrite fixed yes\ntext Now.\\n\\n{promise}\n").unwrap();
    let check = "test -e fixed || { echo 'the file fixed is missing'; exit 7; }";
    let call = project.run(&["script", script.to_str().unwrap()]).args(["--check", check]);
    let answer = call.output().expect(0);
    let verdicts: Vec<_> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"]);
    assert!(answer.events_named("verdict")[0]["reason"].as_str().unwrap().contains("exited with 7, expected 0"));
    let prompts = prompt_lengths(&project);
    assert!(prompts[1] > prompts[0] + 100, "the second prompt carries the rejection: {prompts:?}");
    assert_eq!(String::from_utf8_lossy(&project.log("iteration-001.check-1.log")), "the file fixed is missing\n");
}

fn prompt_lengths(project: &Project) -> Vec<usize> {
    let last_word = |line: &String| line.split(' ').next_back().unwrap().parse().unwrap();
    project.starts().iter().map(last_word).collect()
}

// spec: L3, V2
#[test]
fn a_claim_rejected_on_the_last_iteration_is_named_as_the_reason() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--max-iterations", "1", "--check", "exit 5"]);
    let reason = call.output().expect(3).finished()["reason"].clone();
    assert!(reason.as_str().unwrap().contains("`exit 5`: Command exited with 5, expected 0"), "{reason}");
}

#[test]
fn a_check_that_cannot_run_twice_in_a_row_blocks_the_run() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--no-baseline", "--check", "no-such-command-here"]);
    let finished = call.output().expect(6).finished();
    assert_eq!(finished["outcome"], "blocked");
    assert_eq!(finished["iterations"], 2);
}

// spec: L5
#[test]
fn a_failing_agent_is_retried_and_then_the_run_fails_with_its_last_output() {
    let project = Project::new();
    let call = project.run(&["exit", "9"]).args(["--max-retries", "1"]);
    let answer = call.output().expect(4);
    assert_eq!(project.starts().len(), 2, "one iteration, two attempts");
    assert_eq!(answer.finished()["iterations"], 1);
    assert!(answer.finished()["reason"].as_str().unwrap().contains("exited with code 9"));
    assert_eq!(answer.events_named("retry.scheduled").len(), 1);
}

// spec: L5
#[test]
fn an_agent_that_recovers_continues_in_the_same_iteration() {
    let project = Project::new();
    let script = project.outside("script");
    std::fs::write(&script, "exit 1\n---\ntext Done.\\n\\n{promise}\n").unwrap();
    let answer = project.run(&["script", script.to_str().unwrap()]).output().expect(0);
    assert_eq!(answer.finished()["iterations"], 1);
    assert_eq!(project.starts().len(), 2);
}

// spec: L5
#[test]
fn an_agent_that_is_not_logged_in_fails_at_once() {
    let project = Project::new();
    let answer = project.run_claude(&["claude-api-error", "auth"]).output().expect(4);
    assert_eq!(project.starts().len(), 1);
    assert_eq!(answer.finished()["outcome"], "failed");
}

// spec: L5, A5
#[test]
fn output_in_another_format_is_a_failure_and_never_silence() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--output-format", "claude", "--max-retries", "0"]);
    let finished = call.output().expect(4).finished();
    assert!(finished["reason"].as_str().unwrap().contains("not understood"), "{finished}");
}

// spec: S6, L2
#[test]
fn an_agent_that_says_blocked_ends_the_run() {
    let project = Project::new();
    let script = project.outside("script");
    std::fs::write(&script, "text I cannot go on.\\n\\n<blocked>no key for staging</blocked>\n").unwrap();
    let finished = project.run(&["script", script.to_str().unwrap()]).output().expect(6).finished();
    assert_eq!(finished["outcome"], "blocked");
    assert!(finished["reason"].as_str().unwrap().contains("no key for staging"));
}

// spec: S7
// finding: N23
#[test]
fn a_contradiction_rejects_a_claim_only_if_no_check_decides() {
    let project = Project::new();
    let script = project.outside("script");
    std::fs::write(&script, "text 3 tests still fail in the parser.\\n\\n{promise}\n").unwrap();
    let run = || project.run(&["script", script.to_str().unwrap()]).args(["--max-iterations", "1"]);
    let answer = run().output().expect(3);
    assert!(answer.finished()["reason"].as_str().unwrap().contains("3 tests still fail"));
    run().args(["--no-contradictions"]).output().expect(0);
    let answer = run().args(["--check", "true"]).output().expect(0);
    assert_eq!(answer.events_named("verdict").len(), 1);
    let claim = answer.events_named("claim")[0]["claim"].clone();
    assert_eq!(claim["contradiction"], "3 tests still fail in the parser.");
    run().args(["--check", "false", "--no-baseline"]).output().expect(3);
}

// spec: S13
// finding: N25
#[test]
fn the_next_prompt_says_why_a_printed_promise_did_not_count() {
    let project = Project::new();
    let kept = project.outside("prompt");
    let script = project.script(&format!("prompt {}\ntext I will not print {{promise}} yet.\n", kept.display()));
    project.run(&["script", &script]).args(["--max-iterations", "2", "--fresh"]).output().expect(3);
    let second = std::fs::read_to_string(kept).unwrap();
    assert!(second.contains("did not count as a claim: the sentence around the tag negates it"), "{second}");
}

// spec: S9
#[test]
fn with_a_nonce_only_the_tag_with_its_id_counts() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--nonce", "--max-iterations", "1"]);
    call.output().expect(3);
    let demo = project.ralph(["run", "note it", "--agent", "demo", "--nonce", "--json"]);
    assert_eq!(demo.output().expect(0).finished()["outcome"], "completed");
}

// spec: A2
#[test]
fn a_response_filter_decides_what_the_agent_s_own_text_is() {
    let project = Project::new();
    let script = project.outside("script");
    let lines = "text {\"kind\":\"note\",\"body\":\"<promise>COMPLETE</promise>\"}\ntext {\"kind\":\"say\",\"body\":\"Not yet.\"}\n";
    std::fs::write(&script, lines).unwrap();
    let run = |filter: &str| {
        project.run(&["script", script.to_str().unwrap()]).args(["--max-iterations", "1", "--response-filter", filter])
    };
    run("select(.kind == \"say\").body").output().expect(3);
    run("jq -r 'select(.kind == \"note\").body'").output().expect(0);
    let refused = run("grep promise").output().expect(64);
    assert!(refused.stderr.contains("hint: "), "{}", refused.stderr);
}

// spec: L4
#[test]
fn a_prompt_file_is_read_again_for_every_iteration() {
    let project = Project::new();
    let prompt = project.write("task.md", "first words");
    let script = project.outside("script");
    std::fs::write(&script, "write task.md these are other and longer words\ntext more\n---\ntext {promise}\n")
        .unwrap();
    let args = ["run", &format!("@{}", prompt.display()), "--agent", "text", "--json", "--promise", "COMPLETE"];
    let call = project.ralph(args).args(["--agent-cmd", crate::harness::FAKE_AGENT, "--agent-arg", "script"]);
    call.args(["--agent-arg", script.to_str().unwrap()]).output().expect(0);
    let lengths = prompt_lengths(&project);
    assert_eq!(lengths[1] - lengths[0], "these are other and longer words".len() - "first words".len());
}

// spec: V1
#[test]
fn without_checks_exactly_the_configured_promise_completes_the_run() {
    let project = Project::new();
    let steps = "text All done.\\n\\n<promise>DONE</promise>\n---\ntext I will print {promise} at the end.\n---\ntext Ready.\\n\\n<promise> complete </promise>\n";
    let script = project.script(steps);
    let answer = project.run(&["script", &script]).output().expect(0);
    let claimed: Vec<bool> =
        answer.events_named("claim").iter().map(|claim| claim["claim"]["claimed"].as_bool().unwrap()).collect();
    assert_eq!(claimed, [false, false, true]);
    assert!(answer.events_named("verdict").is_empty(), "there is nothing to run: {}", answer.stdout);
    assert_eq!(answer.finished()["outcome"], "completed");
}
