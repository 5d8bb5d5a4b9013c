//! Proof levels: what was seen to fail before the work, what was only checked, and what the agent only says.
use serde_json::{Value, json};

use crate::harness::{CallOutput, Project};

const COMMIT: &str = "git add -A && git -c user.name=a -c user.email=a@b commit -qm work";
const CLAIM: &str = "echo '<promise>COMPLETE</promise>'";

fn shown(project: &Project, answer: &CallOutput) -> Value {
    let run = answer.events_named("run.started")[0]["run"].as_str().unwrap().to_owned();
    project.ralph(["show", &run, "--json"]).output().expect(0).json()
}

/// Runs an agent that writes `done`, and returns how its end is recorded.
fn run_with_checks(args: &[&str]) -> (Project, CallOutput) {
    let project = Project::new();
    let script = project.script("write done yes\ntext Done.\\n\\n{promise}");
    let answer = project.run(&["script", &script]).args(args).output().expect(0);
    (project, answer)
}

// spec: V16
#[test]
fn a_check_that_failed_before_and_passes_now_is_proven_everywhere() {
    let (project, answer) = run_with_checks(&["--check", "test -e done"]);
    let finished = answer.finished();
    assert_eq!(finished["proof"], "proven");
    assert_eq!(finished["proof_reason"], "`test -e done` failed before the work and passes now");
    let receipt = project.receipt();
    assert_eq!((&receipt["proof"], &receipt["verified"]), (&json!("proven"), &json!(true)));
    assert_eq!(shown(&project, &answer)["proof"], "proven");
    let runs = project.ralph(["runs", "--json"]).output().expect(0).json();
    assert_eq!((&runs[0]["proof"], &runs[0]["judged"]), (&json!("proven"), &json!(false)));
    let text = project.ralph(["runs"]).output().expect(0).stdout;
    assert!(text.contains("completed (proven)"), "{text}");
    let text = project.ralph(["show"]).output().expect(0).stdout;
    assert!(text.contains("proof    proven: `test -e done` failed before the work and passes now"), "{text}");
}

// spec: V16
// finding: N4
#[test]
fn a_check_that_passed_already_is_only_checked() {
    let (project, answer) = run_with_checks(&["--check", "true"]);
    assert_eq!(answer.finished()["proof"], "checked");
    assert_eq!(project.receipt()["proof_reason"], "`true` passed already before the work");
    let printed = project.run_on("do it", &["complete"]).args(["--check", "true"]).output().expect(0).stdout;
    assert!(printed.contains(" (checked): 1 check passed"), "{printed}");
    assert!(printed.contains("checked: `true` passed already before the work"), "{printed}");
}

// spec: V16
#[test]
fn a_run_without_a_baseline_is_only_checked() {
    let (_, answer) = run_with_checks(&["--check", "test -e done", "--no-baseline"]);
    let finished = answer.finished();
    assert_eq!(finished["proof"], "checked");
    assert_eq!(finished["proof_reason"], "no check was run before the work");
}

// spec: V16
#[test]
fn a_claim_alone_is_unverified() {
    let (project, answer) = run_with_checks(&[]);
    assert_eq!(answer.finished()["proof"], "unverified");
    assert_eq!(project.receipt()["verified"], false);
}

// spec: V16
// finding: N12
#[test]
fn a_check_script_that_the_agent_wrote_is_only_checked_and_the_reason_says_so() {
    for (check, file) in [("./check.sh", "check.sh"), ("sh check.sh", "check.sh"), ("python3 check.py", "check.py")] {
        let project = Project::new();
        let agent = format!("cat > /dev/null\nprintf '#!/bin/sh\\n' > {file}\nchmod +x {file}\n{CLAIM}");
        let answer = project.run_shell(&agent).args(["--check", check]).output().expect(0);
        let finished = answer.finished();
        assert_eq!(finished["proof"], "checked", "{check}");
        let reason = format!("`{check}` runs a file that did not exist before the work");
        assert_eq!(finished["proof_reason"], reason.as_str());
    }
}

// spec: V16
#[test]
fn required_proof_refuses_a_run_whose_checks_pass_already_before_anything_is_spent() {
    let project = Project::new();
    let answer = project.run(&["complete"]).args(["--check", "true", "--require-proof"]).output().expect(1);
    assert_eq!(project.starts().len(), 0, "no agent is started");
    let finished = answer.finished();
    assert_eq!(finished["outcome"], "blocked");
    let reason = finished["reason"].as_str().unwrap();
    assert!(reason.contains("every check passes already"), "{reason}");
}

// spec: V16
#[test]
fn required_proof_is_a_usage_error_if_no_command_could_prove_a_claim() {
    let project = Project::new();
    for args in [&["--require-proof"][..], &["--require-proof", "--check", "false", "--no-baseline"]] {
        let answer = project.run(&["complete"]).args(args).output().expect(64);
        assert!(answer.stderr.contains("no claim could be proven, but proof is required (--require-proof)"));
    }
    assert_eq!(project.starts().len(), 0);
}

// spec: V16
#[test]
fn required_proof_accepts_a_proven_claim() {
    let (_, answer) = run_with_checks(&["--check", "test -e done", "--require-proof"]);
    assert_eq!(answer.finished()["proof"], "proven");
}

// spec: V16
#[test]
fn a_claim_of_a_lower_level_does_not_complete_a_run_that_requires_proof() {
    let project = Project::new();
    std::fs::create_dir_all(project.root().join("guarded")).unwrap();
    project.write("guarded/x", "1");
    let config = project.outside("c.yaml");
    let settings = "checks: [test -e done]\nverification: {guard: [guarded/**], allow_changes: [guarded/**]}\n";
    std::fs::write(&config, settings).unwrap();
    let agent = format!("cat > /dev/null; echo 2 > guarded/x; touch done; {CLAIM}");
    let args = ["--config", &config.display().to_string(), "--require-proof", "--max-iterations", "2"];
    let answer = project.run_shell(&agent).args(args).output().expect(3);
    let reason = answer.finished()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("the result must be proven, but is only checked: sealed files"), "{reason}");
    assert!(answer.finished().get("proof").is_none());
}

// finding: N35
#[test]
fn the_last_line_says_that_the_work_is_not_committed() {
    let last_line = |agent: &str| {
        let project = Project::new();
        let agent = project.shell(agent);
        let args = ["run", "do the work", "--agent", "text", "--agent-cmd", &agent, "--promise", "COMPLETE"];
        let call = project.ralph(args).args(["--check", "test -e done"]);
        call.output().expect(0).stdout
    };
    let printed = last_line(&format!("cat > /dev/null; touch done; {CLAIM}"));
    assert!(printed.contains(" (proven): 1 check passed; not committed\n"), "{printed}");
    let printed = last_line(&format!("cat > /dev/null; touch done; {COMMIT}; {CLAIM}"));
    assert!(printed.contains(" (proven): 1 check passed\n"), "{printed}");
}
