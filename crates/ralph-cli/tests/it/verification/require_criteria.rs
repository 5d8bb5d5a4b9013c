//! Required criteria: nothing starts that only a promise of the agent would decide.
use crate::harness::{CallOutput, FAKE_AGENT, Project};
use crate::run::classic;
use crate::work::pipeline;

const NO_CRITERIA_MESSAGE: &str = "no check could verify a claim, but criteria are required";

/// A run of this configuration, refused before anything was started.
fn refused(config: &str, args: &[&str]) -> String {
    let project = Project::new();
    std::fs::create_dir_all(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", config);
    project.trust();
    let answer = project.run(&["complete"]).args(args).output().expect(64);
    assert!(answer.stderr.contains(NO_CRITERIA_MESSAGE), "{}", answer.stderr);
    assert!(project.starts().is_empty() && !project.state().exists(), "nothing is begun");
    answer.stderr
}

// spec: V14, C6
// fault: 75
#[test]
fn a_run_without_a_check_is_a_usage_error_if_criteria_are_required() {
    let stderr = refused("", &["--require-criteria"]);
    assert!(stderr.contains("(--require-criteria)\ncaused by: there is no check\nhint: "), "{stderr}");
    let stderr = refused("verification: {require_criteria: true}\n", &[]);
    assert!(stderr.contains("config.yaml:1)"), "it says who wants that: {stderr}");
}

// spec: V1, V3, V4
// fault: 75
#[test]
fn a_promise_alone_is_not_a_criterion() {
    for (check, why) in [
        ("{name: said, method: string_match}", "said: it checks only the claim itself"),
        ("{method: semantic, negative_patterns: [slow]}", "it has no questions for the judge"),
        (
            "{stages: [{name: lint, command: make lint, required: false}]}",
            "1 stage: none of its required stages verifies more than the claim",
        ),
    ] {
        let stderr = refused(&format!("checks: [{check}]\n"), &["--require-criteria"]);
        assert!(stderr.contains(why), "{check}: {stderr}");
    }
    let lenient = "checks: [{check_for: [it is fast]}]\nverification: {judge: {on_error: string_match}}\n";
    let stderr = refused(lenient, &["--require-criteria"]);
    assert!(stderr.contains("1 judged criterion: the claim is accepted if the judge fails"), "{stderr}");
}

// spec: V14
// fault: 75
#[test]
fn a_run_with_a_check_starts_if_criteria_are_required() {
    let project = Project::new();
    let args = ["--require-criteria", "--check", "true"];
    project.run(&["complete"]).args(args).output().expect(0);
}

/// Imports a task with these criteria for coder and reviewer, and runs it with required criteria.
fn stage(verified: &str) -> CallOutput {
    let project = Project::new();
    let task = format!(
        "task:\n  id: T-1\n  title: x\n  completion:\n    outcome: it is there\n    acceptance_criteria: [it works]\n{verified}"
    );
    project.write("task.yaml", task);
    project.ralph(["task", "import", "task.yaml"]).output().expect(0);
    let agent = ["task", "run", "T-1", "--require-criteria", "--agent", "text", "--agent-cmd", FAKE_AGENT];
    let answer = project.ralph(agent).args(["--agent-arg=complete"]).output();
    assert!(project.starts().is_empty());
    answer
}

// spec: T6, T7
// fault: 75
#[test]
fn a_stage_decided_by_a_promise_is_a_usage_error_if_criteria_are_required() {
    let answer = stage("    coder: {verification_method: string_match}\n").expect(64);
    assert!(answer.stderr.contains("the promise itself: it checks only the claim itself"), "{}", answer.stderr);
}

// spec: T7
// fault: 75
#[test]
fn unverified_stages_are_a_usage_error_if_criteria_are_required() {
    let project = pipeline::project(&[("T-1", "")]);
    for args in [&["task", "run", "T-1"][..], &["work", "--until-idle"]] {
        let call = project.ralph(args).args(["--require-criteria", "--agent", "text", "--agent-cmd", FAKE_AGENT]);
        let answer = call.env("RALPH_VERIFY_PROMISES", "false").output().expect(64);
        let why = "ralph.verify_promises is false (RALPH_VERIFY_PROMISES): no claim of a stage is verified";
        assert!(answer.stderr.contains(why), "{}", answer.stderr);
    }
}

// spec: T7, P6
// fault: 75
#[test]
fn a_worker_skips_a_task_with_a_stage_decided_by_a_promise() {
    let project = pipeline::project(&[("T-1", ""), ("T-2", "")]);
    project.ralph(["task", "edit", "T-2", "--qa-verify", "string_match"]).output().expect(0);
    let agent = project.outside("agent.sh");
    let args = ["work", "--until-idle", "--require-criteria", "--json", "--agent", "text", "--agent-cmd"];
    let answer = project.ralph(args).args([agent.to_str().unwrap()]).output().expect(3);
    let left = answer.events_named("task.left");
    assert!(left.len() == 1 && left[0]["task"] == "T-2", "{left:?}");
    let starts = std::fs::read_to_string(project.outside("marks/starts")).unwrap();
    assert!(starts.contains("T-1 qa") && !starts.contains("T-2"), "{starts}");
}

// spec: C1
// fault: 75
#[test]
fn a_build_must_be_verified_if_criteria_are_required_and_a_plan_need_not() {
    let project = classic::project();
    let call = |mode: &str| {
        let call = classic::run(&project, &[mode], &["complete"]);
        call.env("RALPH_VERIFICATION_REQUIRE_CRITERIA", "true")
    };
    assert!(call("build").output().expect(64).stderr.contains(NO_CRITERIA_MESSAGE));
    call("plan").output().expect(0);
}

// spec: V14
// fault: 75
#[test]
fn a_loop_in_a_session_must_be_verified_if_criteria_are_required() {
    let project = Project::new();
    let start = |args: &[&str]| {
        let begin = ["loop", "start", "--session", "s-1", "--host", "claude", "--prompt", "work"];
        project.ralph(begin).args(args).env("RALPH_VERIFICATION_REQUIRE_CRITERIA", "true").output()
    };
    assert!(start(&[]).expect(64).stderr.contains(NO_CRITERIA_MESSAGE));
    start(&["--check", "true"]).expect(0);
}
