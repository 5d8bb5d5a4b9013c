//! Before the first iteration: checks run once, and check files are sealed.
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Project, wait_until};

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().unwrap()).collect()
}

// spec: V8
#[test]
fn checks_run_once_before_the_first_iteration_and_their_results_are_recorded() {
    let project = Project::new();
    let check = "test -e done || { echo 'nothing is done'; exit 3; }";
    let script = project.script("write done yes\ntext Done.\\n\\n{promise}");
    let answer = project.run(&["script", &script]).args(["--check", check]).output().expect(0);
    let events = answer.events();
    assert_eq!(names(&events)[..4], ["run.started", "run.sealed", "baseline", "iteration.started"]);
    let baseline = &events[2]["checks"][0];
    assert_eq!((&baseline["standing"], &baseline["exit_code"]), (&"fails".into(), &3.into()));
    assert_eq!(baseline["log"], "baseline.check-1.log");
    assert_eq!(project.log("baseline.check-1.log"), b"nothing is done\n");
}

// spec: V8
#[test]
fn a_check_that_already_passes_is_reported_and_the_run_continues() {
    let project = Project::new();
    let call = project.run_on("do it", &["complete"]).args(["--check", "true"]);
    let printed = call.output().expect(0).stderr;
    assert!(printed.contains("baseline  `true` passes already: this check proves nothing"), "{printed}");
}

// spec: V8, V7
// fault: 75
#[test]
fn a_check_that_cannot_run_ends_the_run_before_any_agent_is_started() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--check", "true", "--check", "no-such-program --test"]);
    let answer = call.output().expect(6);
    assert_eq!(project.starts().len(), 0, "no token is spent");
    let finished = answer.finished();
    assert_eq!((&finished["outcome"], &finished["iterations"]), (&"blocked".into(), &0.into()));
    let reason = finished["reason"].as_str().unwrap();
    assert!(reason.contains("`no-such-program --test`") && reason.contains("exit code 127"), "{reason}");
    let checks = &answer.events_named("baseline")[0]["checks"];
    assert!(checks[1]["tail"].as_str().unwrap().contains("not found"), "{checks}");
}

// spec: V8
#[test]
fn a_check_program_missing_from_the_work_tree_may_be_written_by_the_agent() {
    let project = Project::new();
    let agent = "cat > /dev/null\nprintf '#!/bin/sh\\nexit 0\\n' > check.sh\nchmod +x check.sh\n\
                 echo '<promise>COMPLETE</promise>'";
    let answer = project.run_shell(agent).args(["--check", "./check.sh"]).output().expect(0);
    let check = &answer.events_named("baseline")[0]["checks"][0];
    assert_eq!((&check["standing"], &check["exit_code"]), (&"fails".into(), &127.into()));
    assert_eq!(answer.finished()["outcome"], "completed");
}

// spec: V8, G2
#[test]
fn the_baseline_can_be_switched_off_and_on() {
    let project = Project::new();
    let seen = |call: crate::harness::Call<'_>| {
        let answer = call.args(["--check", "true"]).output().expect(0);
        (answer.events_named("baseline").len(), answer.events_named("run.sealed").len())
    };
    assert_eq!(seen(project.run(&["complete"]).args(["--no-baseline"])), (0, 1));
    let off = || project.run(&["complete"]).env("RALPH_VERIFICATION_BASELINE", "off");
    assert_eq!(seen(off()), (0, 1));
    assert_eq!(seen(off().args(["--baseline"])), (1, 1));
}

// spec: V8, V10
#[test]
fn with_a_clean_room_the_baseline_runs_in_a_checkout_too() {
    let project = Project::new();
    project.write(".gitignore", "leftover\n");
    project.commit();
    project.write("leftover", "");
    let call = project.run(&["complete"]).args(["--clean", "--check", "test -e leftover"]);
    let answer = call.args(["--max-iterations", "1"]).output().expect(3);
    assert_eq!(answer.events_named("baseline")[0]["checks"][0]["standing"], "fails");
}

// spec: V8
#[test]
fn a_run_without_checks_has_neither_baseline_nor_seal() {
    let project = Project::new();
    let events = project.run(&["complete"]).output().expect(0).events();
    assert_eq!(names(&events)[..2], ["run.started", "iteration.started"]);
}

// spec: V8, L12, L13
#[test]
fn ctrl_c_during_the_baseline_ends_the_run_and_resume_prepares_it_again() {
    let project = Project::new();
    let (ready, go) = (project.outside("checking"), project.outside("go"));
    let check = format!("touch {}; test -e {} || exec sleep 1000", ready.display(), go.display());
    let running = project.run(&["complete"]).args(["--check", &check]).start();
    wait_until("the check runs", || ready.exists());
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    assert_eq!(answer.finished()["iterations"], 0);
    assert_eq!(project.starts().len(), 0);
    std::fs::write(&go, "").unwrap();
    let answer = project.ralph(["resume", "--json"]).output().expect(0);
    let events = answer.events();
    assert_eq!(names(&events)[..3], ["run.resumed", "run.sealed", "baseline"]);
    assert_eq!(events[0]["next"], "prepare");
    assert_eq!(events[2]["checks"][0]["log"], "baseline-round-2.check-1.log");
}

// spec: V8, L13
#[test]
fn a_crash_during_the_preparation_loses_nothing() {
    let project = Project::new();
    let call = project.run(&["complete"]).args(["--check", "true"]).env("RALPH_FAIL", "prepare.started");
    assert_eq!(call.start().wait_without_invariants().code(), -6);
    wait_until("everything is gone", || project.processes_of_runs().is_empty());
    let events = project.ralph(["resume", "--json"]).output().expect(0).events();
    assert_eq!(names(&events)[..4], ["run.resumed", "run.sealed", "baseline", "iteration.started"]);
}

// spec: V8, V9
#[test]
fn show_prints_the_baseline_of_the_checks_and_the_state_of_the_seal() {
    let project = Project::new();
    project.write("verify.sh", "grep -q done work\n");
    project.write("work", "open\n");
    let agent = "cat > /dev/null; if [ -e seen ]; then echo 'grep -q done work' > verify.sh; echo done > work
         else touch seen; echo exit 0 > verify.sh; fi; echo '<promise>COMPLETE</promise>'";
    project.run_shell(agent).args(["--check", "sh verify.sh", "--check", "true"]).output().expect(0);
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    for line in [
        "\nsealed   the criteria and 1 file, ",
        "\nBROKEN   at iteration 1: verify.sh was changed\n",
        "\nbaseline `sh verify.sh` fails before the work: Command exited with 1, expected 0\n",
        "\nbaseline `true` passes already: this check proves nothing\n",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let json = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(json["seal"]["files"][0]["path"], "verify.sh");
    let broken = serde_json::json!([{ "iteration": 1, "changes": ["verify.sh was changed"] }]);
    assert_eq!(json["seal"]["broken"], broken);
    assert_eq!((&json["baseline"][0]["standing"], &json["baseline"][0]["exit_code"]), (&"fails".into(), &1.into()));
    assert_eq!(json["baseline"][1]["standing"], "proves_nothing");
    let log = json["baseline"][0]["log"].as_str().unwrap();
    assert!(log.ends_with("/baseline.check-1.log") && project.root().join(log).exists(), "{log}");
    let folder = std::path::Path::new(log).parent().unwrap();
    let receipt = std::fs::read(project.root().join(folder).join("receipt.json")).unwrap();
    let receipt: Value = serde_json::from_slice(&receipt).unwrap();
    assert_eq!(receipt["seal_sha256"], json["seal"]["sha256"]);
    assert_eq!(receipt["baseline"][1], serde_json::json!({ "command": "true", "standing": "proves_nothing" }));
}

// spec: V8, V7
#[test]
fn show_prints_a_check_that_could_not_run_before_the_work() {
    let project = Project::new();
    project.run(&["complete"]).args(["--check", "no-such-program"]).output().expect(6);
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains("\nbaseline `no-such-program` cannot be evaluated: "), "{shown}");
    let json = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(json["baseline"][0]["standing"], "cannot_run");
    let bare = Project::new();
    bare.run(&["complete"]).output().expect(0);
    let json = bare.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!((&json["seal"], &json["baseline"]), (&Value::Null, &serde_json::json!([])));
}
