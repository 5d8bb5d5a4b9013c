//! Orders over HTTP: starting, controlling and deciding.
use std::fs;
use std::sync::Barrier;

use serde_json::{Value, json};

use super::client::HttpRequest;
use super::served_project::{ServedProject, project_with_script};
use crate::control::cancel::beside;
use crate::harness::Project;

const WAITING: &str = "prompt ../prompt-1\ntouch ../at-1\nwait ../go-1\ntext More to do.\n---\nprompt ../prompt-2\n\
                       touch ../at-2\nwait ../go-2\ntext Done.\\n\\n{promise}\n";

fn release(project: &Project, number: u32) {
    fs::write(project.outside(&format!("go-{number}")), "").unwrap();
}

// spec: U5
#[test]
fn a_run_is_started_paused_guided_limited_and_resumed_over_http() {
    let project = project_with_script(WAITING);
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "do it", "max_iterations": 4, "checks": ["true"] }));
    let order = |name: &str, body: Value| served.post(&format!("/api/runs/{run}/{name}"), &body);
    project.wait_for("at-1");
    let listed = served.get("/api/runs?status=running").expect(200).json();
    assert_eq!(listed["runs"][0]["now"]["activity"], "running");
    assert_eq!(listed["runs"][0]["now"]["iteration"], 1);
    assert_eq!(order("pause", json!({})).expect(200).json()["result"], "pauses_after_iteration");
    let changed = order("limits", json!({ "max_iterations": "+2" })).expect(200).json();
    assert_eq!(changed["result"], "changed");
    assert_eq!(order("guide", json!({ "words": "mind the gap" })).expect(200).json()["result"], "delivered");
    release(&project, 1);
    crate::harness::wait_until("the run is paused", || {
        served.get("/api/runs").json()["runs"][0]["now"]["activity"] == "paused"
    });
    assert_eq!(order("resume", json!({})).expect(200).json()["result"], "woken_up");
    project.wait_for("at-2");
    assert!(fs::read_to_string(project.outside("prompt-2")).unwrap().contains("mind the gap"));
    release(&project, 2);
    let ended = served.wait_for_status(&run, "completed");
    assert_eq!((&ended["proof"], &ended["max_iterations"]), (&json!("checked"), &json!(6)));
    order("resume", json!({})).expect(409);
    order("pause", json!({})).expect(409);
    order("accept", json!({})).expect(409);
    served.stop();
}

// spec: U5
// fault: 105
#[test]
fn of_many_cancels_at_the_same_time_one_wins() {
    let project = project_with_script("touch ../at-1\nhang\n");
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "x" }));
    project.wait_for("at-1");
    let start = Barrier::new(100);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let send = || {
            start.wait();
            served.post(&format!("/api/runs/{run}/cancel"), &json!({})).status
        };
        let senders: Vec<_> = (0..100).map(|_| scope.spawn(send)).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 99, "{statuses:?}");
    let events = served.get(&format!("/api/runs/{run}/events?limit=500")).json();
    let names: Vec<&str> =
        events["events"].as_array().unwrap().iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names.iter().filter(|name| **name == "run.finished").count(), 1, "{names:?}");
    served.wait_for_status(&run, "cancelled");
    served.stop();
}

// spec: U5
// fault: 105
#[test]
fn a_repeated_order_with_the_same_key_is_carried_out_once() {
    let project = project_with_script("text Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let order = |prompt: &str, key: &str| {
        HttpRequest::post("/api/runs", &json!({ "prompt": prompt, "promise": "COMPLETE" }))
            .bearer(&served.token)
            .header("Idempotency-Key", key)
            .send(served.port)
    };
    let first = order("x", "key-1").expect(201).json();
    served.wait_for_status(first["id"].as_str().unwrap(), "completed");
    assert_eq!(order("x", "key-1").expect(201).json(), first);
    order("another", "key-1").expect(422);
    order("x", "").expect(400);
    let second = order("x", "key-2").expect(201).json();
    assert_ne!(second, first);
    served.wait_for_status(second["id"].as_str().unwrap(), "completed");
    assert_eq!(served.get("/api/runs").json()["runs"].as_array().unwrap().len(), 2);
    served.stop();
}

// spec: U5
#[test]
fn an_order_that_cannot_be_read_says_what_is_wrong_with_it() {
    let project = project_with_script("text Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let detail = |path: &str, body: Value, status: u16| {
        served.post(path, &body).expect(status).json()["detail"].as_str().unwrap().to_owned()
    };
    assert!(detail("/api/runs", json!({}), 422).contains("prompt"));
    assert!(detail("/api/runs", json!({ "prompt": "x", "speed": 1 }), 422).contains("speed"));
    assert!(detail("/api/runs", json!({ "prompt": " " }), 422).contains("the prompt is empty"));
    assert!(detail("/api/runs", json!({ "prompt": "x", "agent": "unknown" }), 422).contains("unknown"));
    assert!(detail("/api/workflow-runs", json!({ "workflow": "nothing" }), 404).contains("nothing"));
    let broken = HttpRequest::post("/api/runs", &json!({})).raw_body("{").bearer(&served.token).send(served.port);
    broken.expect(400);
    assert_eq!(served.get("/api/runs").json()["runs"], json!([]));
    served.stop();
}

// spec: U5, V17
#[test]
fn a_task_is_retried_cancelled_and_guided_over_http() {
    let project = project_with_script("text Done.\\n\\n{promise}\n");
    let create = ["task", "create", "T-1", "s", "Mine", "--outcome", "o", "--acceptance", "a"];
    project.ralph(create).output().expect(0);
    let served = ServedProject::start(&project);
    let order = |name: &str, body: Value| served.post(&format!("/api/tasks/T-1/{name}"), &body);
    assert_eq!(order("guide", json!({ "words": "keep it small", "keep": true })).expect(200).json()["result"], "kept");
    assert_eq!(order("cancel", json!({})).expect(200).json()["task"], "T-1");
    order("cancel", json!({})).expect(409);
    assert_eq!(served.get("/api/tasks?status=cancelled").json()["tasks"][0]["id"], "T-1");
    assert_eq!(order("retry", json!({})).expect(200).json()["result"], "ready");
    order("approve", json!({ "seen": "x" })).expect(409);
    order("land", json!({})).expect(409);
    served.post("/api/tasks/T-2/retry", &json!({})).expect(404);
    assert_eq!(served.get("/api/tasks/T-1").expect(200).json()["status"], "todo");
    served.stop();
    beside(&project, &["task", "show", "T-1"]).expect(0);
}

// spec: U5
#[test]
fn a_worker_is_started_over_http_once() {
    let project = project_with_script("hang\n");
    let served = ServedProject::start(&project);
    served.post("/api/work", &json!({ "slots": 0 })).expect(422);
    // Without tasks there is nothing to work on.
    served.post("/api/work", &json!({})).expect(409);
    let create = ["task", "create", "T-1", "s", "Mine", "--outcome", "o", "--acceptance", "a"];
    beside(&project, &create).expect(0);
    let started = served.post("/api/work", &json!({ "slots": 2 })).expect(201).json();
    assert_eq!(started, json!({ "result": "working", "slots": 2 }));
    let second = served.post("/api/work", &json!({})).expect(409).json();
    assert!(second["detail"].as_str().unwrap().contains("a worker of this server runs already"), "{second}");
    served.stop();
}

// spec: U5, W9
#[test]
fn a_workflow_is_started_and_its_question_answered_over_http() {
    let project = project_with_script("text Done.\\n\\n{promise}\n");
    fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(
        ".ralph/workflows/gate.yaml",
        "name: gate\ndescription: asks\nworktree: {enabled: false}\nnodes:\n  - id: ask\n    approval: {message: 'Ship it?'}\n  \
         - id: ship\n    depends_on: [ask]\n    bash: echo shipped\n",
    );
    project.commit();
    project.trust();
    let served = ServedProject::start(&project);
    let started = served.post("/api/workflow-runs", &json!({ "workflow": "gate" })).expect(201).json();
    let run = started["id"].as_str().unwrap().to_owned();
    let path = format!("/api/workflow-runs/{run}");
    crate::harness::wait_until("the workflow waits", || served.get(&path).json()["status"] == "waiting");
    let inbox = served.get("/api/inbox").expect(200).json();
    assert_eq!(inbox["items"][0]["kind"], "workflow_question");
    let seen = served.get(&path).json()["questions"][0]["seen"].clone();
    let answer =
        |decision: &str| served.post(&format!("{path}/answers"), &json!({ "decision": decision, "seen": seen }));
    answer("maybe").expect(422);
    let answered = answer("approve").expect(200).json();
    assert_eq!((&answered["result"], &answered["node"]), (&json!("answered"), &json!("ask")));
    crate::harness::wait_until("the workflow is completed", || served.get(&path).json()["status"] == "completed");
    answer("approve").expect(409);
    let rerun = served.post(&format!("{path}/rerun"), &json!({ "from": "ship" })).expect(201).json();
    let rerun = format!("/api/workflow-runs/{}", rerun["id"].as_str().unwrap());
    crate::harness::wait_until("the second run is completed", || served.get(&rerun).json()["status"] == "completed");
    assert_eq!(served.get("/api/workflow-runs").json()["workflow_runs"].as_array().unwrap().len(), 2);
    served.stop();
}
