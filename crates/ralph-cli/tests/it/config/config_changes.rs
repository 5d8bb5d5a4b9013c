//! A run keeps the settings that it started with and reports changes of the configuration.
use rustix::process::Signal;

use crate::harness::{CallOutput, FAKE_AGENT, Project};

/// Runs the agent of the user's configuration until it waits, and interrupts the run.
fn interrupted(project: &Project, yaml: &str) {
    configure(project, yaml);
    let run = project.ralph(["run", "x", "--agent", "mine", "--promise", "COMPLETE", "--json"]).start();
    run.wait_for_event("attempt.started");
    run.signal(Signal::INT);
    run.wait().expect(130);
}

fn configure(project: &Project, yaml: &str) {
    let folder = project.home().join(".config/ralph");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.yaml"), yaml).unwrap();
}

fn run_agent(mode: &str) -> String {
    format!("agents: {{mine: {{type: text, cli: {FAKE_AGENT}, args: [{mode}]}}}}\n")
}

fn assert_reported_changes(answer: &CallOutput) -> Vec<String> {
    let resumed = answer.events_named("run.resumed").remove(0);
    let changed = resumed["changed"].as_array().unwrap().iter();
    changed.map(|change| change.as_str().unwrap().to_owned()).collect()
}

// spec: L13
// fault: 12
#[test]
fn a_changed_configuration_is_reported_and_the_run_keeps_its_own() {
    let project = Project::new();
    let go = project.outside("go");
    let waits = run_agent(&format!("wait-file, {}", go.display()));
    interrupted(&project, &format!("{waits}checks: ['test -e proof']\n"));
    std::fs::write(&go, "").unwrap();
    project.write("proof", "");
    configure(&project, &format!("limits: {{grace: 7s}}\n{}checks: ['false']\n", run_agent("exit")));
    let answer = project.ralph(["resume", "--json"]).output().expect(0);
    let place = project.home().join(".config/ralph/config.yaml");
    let place = place.display();
    assert_eq!(
        assert_reported_changes(&answer),
        [
            format!("the configuration now has agents.mine.args: [\"exit\"] ({place}:2)"),
            format!("the configuration now has checks: [\"false\"] ({place}:3)"),
            format!("the configuration now has limits.grace: \"7s\" ({place}:1)"),
            "the run keeps the settings that it started with; a new run takes the new ones".to_owned(),
        ]
    );
    assert_eq!(answer.events_named("verdict")[0]["verdict"], "accepted", "by the check of then: {}", answer.stdout);
}

// spec: L13
// fault: 12
#[test]
fn flags_are_not_a_change_and_an_invalid_configuration_stops_no_run() {
    let project = Project::new();
    let go = project.outside("go");
    let call = project.run(&["wait-file", go.to_str().unwrap()]).args(["--check", "true", "--grace", "9s"]);
    let run = call.start();
    run.wait_for_event("attempt.started");
    run.signal(Signal::INT);
    run.wait().expect(130);
    let run = project.ralph(["resume", "--json"]).start();
    run.wait_for_event("attempt.started");
    run.signal(Signal::INT);
    assert!(assert_reported_changes(&run.wait().expect(130)).is_empty());
    std::fs::write(&go, "").unwrap();
    configure(&project, "chekcs: [true]\n");
    let answer = project.ralph(["resume", "--json"]).output().expect(0);
    let changed = assert_reported_changes(&answer);
    assert!(changed[0].starts_with("the configuration is wrong now: ") && changed[0].contains("chekcs"), "{changed:?}");
}
