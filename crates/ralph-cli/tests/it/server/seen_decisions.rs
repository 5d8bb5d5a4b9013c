//! Decisions over HTTP count for the text that was read, and for no other.
use std::fs;

use serde_json::{Value, json};

use super::served_project::{ServedProject, project_with_script};
use crate::control::cancel::beside;
use crate::harness::{Project, wait_until};

/// Tasks whose checks an agent wrote, with this command.
fn import_checks(project: &Project, command: &str) {
    let path = project.outside("tasks.yaml");
    let text = format!(
        "- id: T-1\n  title: Greet\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    coder: \
         {{verification_config: {{command: {command}}}}}\n"
    );
    fs::write(&path, text).unwrap();
    let import = ["task", "import", "--by-agent", path.to_str().unwrap()];
    beside(project, &import).expect(0);
}

fn is_approved(served: &ServedProject<'_>) -> bool {
    served.get("/api/inbox").expect(200).json()["items"].as_array().unwrap().is_empty()
}

// spec: U10, T8
#[test]
fn an_approval_of_checks_counts_only_for_the_checks_that_were_read() {
    let project = project_with_script("text unused\n");
    import_checks(&project, "touch harmless");
    let served = ServedProject::start(&project);
    let read = || served.get("/api/tasks/T-1/approval").expect(200).json();
    let approve = |seen: &Value| served.post("/api/tasks/T-1/approve", &json!({ "seen": seen }));
    let harmless = read();
    assert!(harmless["text"].as_str().unwrap().contains("touch harmless"), "{harmless}");
    beside(&project, &["task", "delete", "T-1"]).expect(0);
    import_checks(&project, "touch harmful");
    let refused = approve(&harmless["seen"]).expect(409).json();
    assert!(refused["detail"].as_str().unwrap().contains("changed after they were shown"), "{refused}");
    assert!(refused["hints"][0].as_str().unwrap().contains("nothing was decided"), "{refused}");
    served.post("/api/tasks/T-1/approve", &json!({})).expect(422);
    assert!(!is_approved(&served));
    approve(&read()["seen"]).expect(200);
    assert!(is_approved(&served));
    approve(&harmless["seen"]).expect(409);
    served.get("/api/tasks/T-1/approval").expect(409);
    served.stop();
}

const TWO_QUESTIONS: &str = "name: gate\ndescription: asks twice\nworktree: {enabled: false}\nnodes:\n\
    - id: first\n  approval: {message: 'Delete the old files?'}\n\
    - id: second\n  depends_on: [first]\n  approval: {message: 'Publish?'}\n";

fn project_with_workflow(yaml: &str) -> Project {
    let project = project_with_script("text unused\n");
    fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(".ralph/workflows/gate.yaml", yaml);
    project.commit();
    project
}

// spec: U10, W8
#[test]
fn an_answer_counts_only_for_the_question_that_was_read() {
    let project = project_with_workflow(TWO_QUESTIONS);
    project.trust();
    let served = ServedProject::start(&project);
    let started = served.post("/api/workflow-runs", &json!({ "workflow": "gate" })).expect(201).json();
    let path = format!("/api/workflow-runs/{}", started["id"].as_str().unwrap());
    let question = |text: &str| {
        let mut found = Value::Null;
        wait_until(&format!("{text:?} is asked"), || {
            found = served.get(&path).json()["questions"][0].clone();
            found["text"] == text
        });
        found
    };
    let answer = |question: &Value| {
        served.post(&format!("{path}/answers"), &json!({ "decision": "approve", "seen": question["seen"] }))
    };
    let first = question("Delete the old files?");
    served.post(&format!("{path}/answers"), &json!({ "decision": "approve" })).expect(422);
    answer(&first).expect(200);
    let second = question("Publish?");
    let refused = answer(&first).expect(409).json();
    assert!(refused["detail"].as_str().unwrap().contains("no longer asks what you have seen"), "{refused}");
    assert_eq!(served.get(&path).json()["questions"], json!([second]));
    answer(&second).expect(200);
    wait_until("the workflow is completed", || served.get(&path).json()["status"] == "completed");
    answer(&second).expect(409);
    served.stop();
}

// spec: U10, X6
#[test]
fn the_commands_of_a_project_are_approved_only_as_they_were_shown() {
    let project = project_with_workflow(TWO_QUESTIONS);
    project.write(".ralph/config.yaml", "checks: [make test]\n");
    let served = ServedProject::start(&project);
    let read = || served.get("/api/commands").expect(200).json();
    let approve = |seen: &Value| served.post("/api/commands/approve", &json!({ "seen": seen }));
    let first = read();
    assert_eq!(first["approved"], false);
    let text = first["text"].as_str().unwrap();
    assert!(text.contains("checks: make test"), "{text}");
    assert!(text.contains("    - id: first\n"), "{text}");
    project.write(".ralph/workflows/gate.yaml", format!("{TWO_QUESTIONS}- id: third\n  bash: rm -r /\n"));
    approve(&first["seen"]).expect(409);
    let second = read();
    project.write(".ralph/config.yaml", "checks: [make harm]\n");
    approve(&second["seen"]).expect(409);
    assert_eq!(read()["approved"], false);
    assert_eq!(served.get("/api/inbox").json()["items"][0]["kind"], "command_approval");
    approve(&read()["seen"]).expect(200);
    assert_eq!(read()["approved"], true);
    assert_eq!(served.get("/api/inbox").json()["items"], json!([]));
    beside(&project, &["trust", "--show"]).expect(0);
    served.stop();
}

// spec: U10, W8
#[test]
fn the_question_of_a_child_is_answered_by_its_own_id_and_its_parent_continues() {
    let child = "name: child\ndescription: c\nnodes:\n- id: ask\n  approval: {message: 'Go on?'}\n";
    let project = project_with_workflow(child.replace("child", "gate").as_str());
    let parent = "name: parent\ndescription: p\nnodes:\n- id: inner\n  workflow: gate\n";
    project.write(".ralph/workflows/parent.yaml", parent);
    project.commit();
    project.trust();
    for restarts in [false, true] {
        let mut served = ServedProject::start(&project);
        let started = served.post("/api/workflow-runs", &json!({ "workflow": "parent" })).expect(201).json();
        let id = started["id"].as_str().unwrap().to_owned();
        let path = format!("/api/workflow-runs/{id}");
        wait_until("the child asks", || served.get(&path).json()["questions"][0]["text"] == "Go on?");
        if restarts {
            served.stop();
            served = ServedProject::start(&project);
        }
        let question = served.get(&path).expect(200).json()["questions"][0].clone();
        let asking = question["run"].as_str().unwrap();
        assert_ne!(asking, id);
        let order = json!({ "decision": "approve", "seen": question["seen"] });
        served.post(&format!("/api/workflow-runs/{asking}/answers"), &order).expect(200);
        wait_until("the parent is completed", || served.get(&path).json()["status"] == "completed");
        served.stop();
    }
}
