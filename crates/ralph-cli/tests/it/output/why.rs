//! `ralph why`: which rule decided, on what evidence, and what did not apply.
use serde_json::Value;

use crate::background_run::detach;
use crate::harness::Project;
use crate::work::pipeline::{self, work, write_agent_command};
use crate::workflows::runs::{project_with, result_of, run_with};

fn why(project: &Project, args: &[&str]) -> Value {
    let call = project.ralph(["why"]).args(args).args(["--json"]);
    call.output().expect(0).json()
}

fn evidence(explained: &Value) -> Vec<String> {
    let lines = explained["evidence"].as_array().unwrap().iter();
    lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

fn not_applied(explained: &Value) -> Vec<String> {
    let rules = explained["not_applied"].as_array().unwrap().iter();
    rules.map(|rule| rule["text"].as_str().unwrap().to_owned()).collect()
}

// spec: U6
#[test]
fn why_explains_an_exhausted_run_and_its_iterations() {
    let project = Project::new();
    let run = project.run(&["complete"]).args(["--check", "echo three failed; exit 2", "--max-iterations", "2"]);
    run.output().expect(3);
    let explained = why(&project, &[]);
    assert_eq!((&explained["kind"], &explained["rule"]), (&"run".into(), &"iteration_limit".into()), "{explained}");
    let number = &explained["numbers"][0];
    assert_eq!((&number["value"], &number["limit"]), (&2.into(), &2.into()));
    assert!(evidence(&explained).iter().any(|line| line == "  | three failed"), "{explained}");
    assert!(not_applied(&explained).contains(&"cost limit: unknown, no limit".to_owned()), "{explained}");
    let first = why(&project, &[explained["id"].as_str().unwrap(), "1"]);
    assert_eq!((&first["kind"], &first["rule"]), (&"iteration".into(), &"check_rejected".into()), "{first}");
    let missing = project.ralph(["why", explained["id"].as_str().unwrap(), "7"]).output().expect(64).stderr;
    assert!(missing.contains("has no iteration 7"), "{missing}");
}

// spec: U6
#[test]
fn the_first_line_of_why_is_the_outcome_in_show() {
    let project = Project::new();
    project.run(&["complete"]).args(["--check", "true"]).output().expect(0);
    let text = project.ralph(["why"]).output().expect(0).stdout;
    let headline = text.lines().next().unwrap();
    assert_eq!(headline, "completed: 1 check passed");
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains(&format!("\noutcome  {headline}\n")), "{shown}");
    assert_eq!(project.ralph(["show", "--json"]).output().expect(0).json()["headline"], headline);
    for part in ["rule      checks accepted: ", "\nevidence\n", "\nrules that did not apply\n"] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "no colours without a terminal");
}

// spec: U6
#[test]
fn why_says_what_a_running_loop_does_and_what_could_end_it() {
    let project = Project::new();
    let script = project.script("touch ../ready\nwait ../go\ntext Done.\\n\\n{promise}\n");
    let run = detach(&project, &["script", &script], &["--check", "true"]);
    project.wait_for("ready");
    // The run is active meanwhile.
    let explained = project.ralph(["why", "--json"]).start().wait_without_invariants().expect(0).json();
    assert_eq!(explained["headline"], "running: the agent works on iteration 1 of 10, attempt 1");
    assert!(not_applied(&explained).contains(&"iteration limit: 1 of 10 iterations".to_owned()), "{explained}");
    std::fs::write(project.outside("go"), "").unwrap();
    run.wait_and_show(&project);
    assert_eq!(why(&project, &[])["rule"], "checks_accepted");
}

// spec: U6
#[test]
fn a_blocked_task_is_explained_with_its_run_and_a_waiting_task_with_its_dependency() {
    let project = pipeline::project(&[("T-1", ""), ("T-2", "  dependencies: [T-1]\n")]);
    assert_eq!(why(&project, &["T-1"])["headline"], "todo: ready: waits for a worker");
    write_agent_command(&project, "always-idle-T-1-coder");
    work(&project, &["--until-idle"]).env("RALPH_CODER_MAX_ITERATIONS", "2").output().expect(3);
    let blocked = why(&project, &["T-1"]);
    assert_eq!((&blocked["kind"], &blocked["rule"]), (&"task".into(), &"attempt_limit".into()), "{blocked}");
    assert_eq!((&blocked["numbers"][0]["value"], &blocked["numbers"][0]["limit"]), (&2.into(), &2.into()));
    assert_eq!(blocked["run"]["rule"], "iteration_limit", "{blocked}");
    let waiting = why(&project, &["T-2"]);
    assert_eq!(waiting["headline"], "todo: waits for T-1 (blocked)");
    assert_eq!((&waiting["rule"], &waiting["run"]), (&"dependency".into(), &Value::Null));
    assert_eq!(why(&project, &["T-1", "2"])["rule"], "no_claim");
    let noted = project.ralph(["why", "T-1"]).output().expect(0).stderr;
    assert!(noted.contains("waits for you: ralph resume T-1 --max-iterations +5 or ralph retry T-1"), "{noted}");
    let unknown = project.ralph(["why", "T-3"]).output().expect(64).stderr;
    assert!(unknown.contains("did you mean T-"), "{unknown}");
}

// spec: U6
#[test]
fn a_workflow_run_names_the_node_that_failed() {
    let workflow = "name: broken\ndescription: fails\nnodes:\n  - id: first\n    bash: exit 3\n  - id: second\n    depends_on: [first]\n    bash: echo two\n";
    let project = project_with("broken", workflow);
    let output = run_with(&project, "broken", &[]).output().expect(3);
    let run = result_of(&output)["run"].as_str().unwrap().to_owned();
    let explained = why(&project, &[&run]);
    assert_eq!((&explained["kind"], &explained["rule"]), (&"workflow".into(), &"node_failed".into()), "{explained}");
    assert!(evidence(&explained)[0].starts_with("node first failed: "), "{explained}");
    assert!(evidence(&explained)[1].starts_with("node second skipped: "), "{explained}");
    let refused = project.ralph(["why", &run, "1"]).output().expect(64).stderr;
    assert!(refused.contains("a workflow run has no iterations"), "{refused}");
}

// spec: U6
#[test]
fn the_guide_lists_every_rule() {
    let guide = include_str!("../../../../../docs/guide/json.md");
    for rule in ralph_core::explanation::DecidingRule::ALL {
        assert!(guide.contains(&format!("`{}`", rule.as_str())), "{rule:?} is not in json.md");
    }
}
