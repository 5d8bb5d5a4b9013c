//! `ralph inbox`: everything that waits for a person, with the command that answers.
use serde_json::{Value, json};

use crate::control::decisions;
use crate::harness::{CallOutput, Project};
use crate::tasks::generate::generated;
use crate::work::pipeline::{self, work, write_agent_command};
use crate::workflows::runs::{project_with, run_with};

fn inbox(project: &Project) -> Vec<Value> {
    project.ralph(["inbox", "--json"]).output().expect(0).json().as_array().unwrap().clone()
}

/// Returns the id and the kind of each item.
fn kinds(project: &Project) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    inbox(project).iter().map(|item| (text(&item["id"]), text(&item["kind"]))).collect()
}

fn pair(id: &str, kind: &str) -> (String, String) {
    (id.to_owned(), kind.to_owned())
}

fn short(run: &Value) -> String {
    let run = run.as_str().unwrap();
    run[run.len() - 8..].to_owned()
}

// spec: U10
#[test]
fn an_empty_inbox_says_so() {
    let project = Project::new();
    assert_eq!(project.ralph(["inbox"]).output().expect(0).stdout, "nothing waits for you\n");
    assert_eq!(inbox(&project), Vec::<Value>::new());
    assert_eq!(project.ralph(["status"]).output().expect(0).stderr, "");
}

// spec: U10
#[test]
fn a_run_that_ended_without_success_waits_until_a_later_one_repeats_it() {
    let project = Project::new();
    let finished = project.run(&["work"]).args(["--max-iterations", "2"]).output().expect(3).finished();
    let item = inbox(&project).remove(0);
    let id = short(&finished["run"]);
    assert_eq!((&item["kind"], &item["id"], &item["run"]), (&"exhausted".into(), &json!(id), &finished["run"]));
    assert_eq!(item["commands"], json!([format!("ralph resume {id} --max-iterations +5")]));
    assert_eq!((&item["holds_slot"], &item["blocked_tasks"]), (&false.into(), &0.into()));
    let why = project.ralph(["why", "--json"]).output().expect(0).json();
    assert_eq!(item["reason"], why["headline"]);
    item["since"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let noted: CallOutput = project.ralph(["status"]).output().expect(0);
    assert!(noted.stderr.contains("1 item waits for you: ralph inbox"), "{}", noted.stderr);
    project.run(&["complete"]).output().expect(0);
    assert_eq!(inbox(&project), Vec::<Value>::new());
}

// spec: U10, V17
#[test]
fn a_claim_with_changed_tests_waits_for_a_decision() {
    let project = decisions::project();
    let run = decisions::blocked_run(&project, &[]);
    let item = inbox(&project).remove(0);
    let id = short(&json!(run));
    assert_eq!((&item["kind"], &item["id"]), (&"changed_tests".into(), &json!(id)), "{item}");
    assert_eq!(item["commands"], json!([format!("ralph accept {id}"), format!("ralph reject {id} --because TEXT")]));
    project.ralph(["accept", &id]).output().expect(0);
    assert_eq!(inbox(&project), Vec::<Value>::new());
}

// spec: U10, T8
#[test]
fn checks_that_an_agent_wrote_wait_for_approval() {
    let project = generated();
    assert_eq!(kinds(&project), [pair("auth-002", "check_approval")], "auth-001 has no command");
    assert_eq!(inbox(&project)[0]["commands"], json!(["ralph task approve auth-002"]));
    project.ralph(["task", "approve", "--all", "--yes"]).output().expect(0);
    assert_eq!(inbox(&project), Vec::<Value>::new());
}

// spec: U10
#[test]
fn tasks_that_keep_others_waiting_come_first_and_finished_work_waits_for_its_landing() {
    let tasks = [("T-1", ""), ("T-2", ""), ("T-3", "  dependencies: [T-2]\n"), ("T-4", "")];
    let project = pipeline::project(&tasks);
    write_agent_command(&project, "wish-blocked-T-2-coder");
    write_agent_command(&project, "always-idle-T-1-coder");
    work(&project, &["--until-idle"]).env("RALPH_CODER_MAX_ITERATIONS", "2").output().expect(3);
    let expected = [pair("T-2", "question"), pair("T-1", "exhausted"), pair("T-4", "not_landed")];
    let mut found = kinds(&project);
    assert_eq!(found.remove(0), expected[0], "T-3 waits for it");
    found.sort();
    assert_eq!(found, expected[1..]);
    let items = inbox(&project);
    assert_eq!(items[0]["commands"], json!(["ralph guide T-2 TEXT && ralph retry T-2"]));
    assert_eq!(items[0]["reason"], "blocked: the agent is blocked: I need a key");
    let text = project.ralph(["inbox"]).output().expect(0).stdout;
    assert!(text.contains("(1 task waits for it)\n    ralph guide T-2 TEXT && ralph retry T-2\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours without a terminal");
    project.ralph(["land", "T-4"]).output().expect(0);
    assert!(!kinds(&project).contains(&pair("T-4", "not_landed")));
}

// spec: U10, W13
#[test]
fn the_question_of_a_workflow_waits_with_the_commands_that_answer_it() {
    let workflow = "name: release\ndescription: asks\nnodes:\n  - id: ask\n    approval:\n      message: Publish it?\n";
    let project = project_with("release", workflow);
    run_with(&project, "release", &[]).output().expect(6);
    let item = inbox(&project).remove(0);
    let id = short(&item["run"]);
    assert_eq!(
        (&item["kind"], &item["reason"]),
        (&"workflow_question".into(), &"waiting: ask asks: Publish it?".into())
    );
    assert_eq!(item["commands"][0], format!("ralph workflow approve {id} --node ask"));
    project.ralph(["workflow", "approve", &id]).output().expect(0);
    assert_eq!(inbox(&project), Vec::<Value>::new());
}

// spec: U10, X6
#[test]
fn commands_of_the_project_wait_until_they_are_approved() {
    let project = Project::new();
    std::fs::create_dir(project.root().join(".ralph")).unwrap();
    project.write(".ralph/config.yaml", "checks: ['true']\n");
    assert_eq!(kinds(&project), [pair("project", "command_approval")]);
    assert_eq!(inbox(&project)[0]["commands"], json!(["ralph trust"]));
    project.trust();
    assert_eq!(inbox(&project), Vec::<Value>::new());
}
