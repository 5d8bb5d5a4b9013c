//! Streams of server-sent events.
use serde_json::{Value, json};

use super::client::{EventReader, HttpRequest};
use super::served_project::{ServedProject, project_with_script};

const TWO_ITERATIONS: &str = "text More to do.\n---\ntouch ../at-2\nwait ../go\ntext Done.\\n\\n{promise}\n";

fn stream(run: &str) -> HttpRequest {
    HttpRequest::get(format!("/api/runs/{run}/events/stream"))
}

// spec: U5
// fault: 104
#[test]
fn a_reader_that_connects_again_gets_exactly_the_events_that_it_has_not_seen() {
    let project = project_with_script(TWO_ITERATIONS);
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "x" }));
    let mut first = EventReader::open(served.port, &stream(&run));
    let seen = first.read_until("iteration.ended");
    drop(first);
    std::fs::write(project.outside("go"), "").unwrap();
    let last_id = &seen.last().unwrap().id;
    let mut second = EventReader::open(served.port, &stream(&run).header("Last-Event-ID", last_id));
    let rest = second.read_until("run.finished");
    assert_eq!(second.next_event(), None);
    let streamed: Vec<Value> =
        seen.iter().chain(&rest).map(|event| serde_json::from_str(&event.data).unwrap()).collect();
    let stored = served.get(&format!("/api/runs/{run}/events?limit=500")).expect(200).json();
    assert_eq!(Value::from(streamed), stored["events"]);
    let ids: Vec<i64> = seen.iter().chain(&rest).map(|event| event.id.parse().unwrap()).collect();
    assert_eq!(ids, (1..=ids.len() as i64).collect::<Vec<_>>());
    served.stop();
}

// spec: U5
#[test]
fn the_pages_of_a_journal_join_to_the_whole_journal() {
    let project = project_with_script("text Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "x" }));
    served.wait_for_status(&run, "completed");
    let all = served.get(&format!("/api/runs/{run}/events?limit=500")).json();
    let mut joined = Vec::new();
    let mut after = 0;
    loop {
        let page = served.get(&format!("/api/runs/{run}/events?after={after}&limit=2")).expect(200).json();
        let events = page["events"].as_array().unwrap().clone();
        let Some(last) = page["last_seq"].as_i64() else { break };
        after = last;
        joined.extend(events);
    }
    assert_eq!(Value::from(joined), all["events"]);
    assert_eq!(all["run_has_ended"], true);
    served.stop();
}

// spec: U5
#[test]
fn listeners_are_told_which_runs_and_tasks_have_changed() {
    let project = project_with_script(TWO_ITERATIONS);
    crate::control::cancel::beside(
        &project,
        &["task", "create", "T-0", "s", "Old", "--outcome", "o", "--acceptance", "a"],
    )
    .expect(0);
    let served = ServedProject::start(&project);
    let mut changes = EventReader::open(served.port, &HttpRequest::get("/api/changes/stream"));
    // What has changed before is not known: a client loads everything once.
    assert_eq!(changes.next_event().unwrap().name, "gap");
    let run = served.start_run(&json!({ "prompt": "x" }));
    let mut wait_for = |wanted: &dyn Fn(&Value) -> bool| loop {
        let event = changes.next_event().unwrap();
        assert_eq!(event.name, "changed");
        if wanted(&serde_json::from_str(&event.data).unwrap()) {
            return;
        }
    };
    let names_run = |change: &Value| change["runs"].as_array().unwrap().contains(&json!(run));
    wait_for(&names_run);
    let create = ["task", "create", "T-1", "s", "Mine", "--outcome", "o", "--acceptance", "a"];
    crate::control::cancel::beside(&project, &create).expect(0);
    wait_for(&|change| change["tasks"] == json!(["T-1"]) && change["inbox"] == true);
    std::fs::write(project.outside("go"), "").unwrap();
    wait_for(&|change| names_run(change) && change["inbox"] == true);
    served.wait_for_status(&run, "completed");
    served.stop();
}

// spec: U5
// fault: 106
#[test]
fn streams_end_when_the_server_stops_and_continue_after_its_restart() {
    let project = project_with_script(TWO_ITERATIONS);
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "x" }));
    let mut reader = EventReader::open(served.port, &stream(&run));
    let mut seen = reader.read_until("iteration.ended");
    served.server.signal(rustix::process::Signal::TERM);
    while let Some(event) = reader.next_event() {
        seen.push(event);
    }
    served.server.wait_without_invariants().expect(143);
    std::fs::write(project.outside("go"), "").unwrap();
    let served = ServedProject::start(&project);
    let last_id = seen.last().unwrap().id.clone();
    let mut reader = EventReader::open(served.port, &stream(&run).header("Last-Event-ID", &last_id));
    let rest = reader.read_until("run.finished");
    let ids: Vec<i64> = seen.iter().chain(&rest).map(|event| event.id.parse().unwrap()).collect();
    assert_eq!(ids, (1..=ids.len() as i64).collect::<Vec<_>>());
    served.wait_for_status(&run, "completed");
    served.stop();
}

// spec: U5
#[test]
fn an_event_id_that_is_not_a_number_is_refused() {
    let project = project_with_script("text Done.\\n\\n{promise}\n");
    let served = ServedProject::start(&project);
    let run = served.start_run(&json!({ "prompt": "x" }));
    stream(&run).header("Last-Event-ID", "x").send(served.port).expect(422);
    HttpRequest::get("/api/runs/none/events/stream").send(served.port).expect(404);
    served.wait_for_status(&run, "completed");
    served.stop();
}
