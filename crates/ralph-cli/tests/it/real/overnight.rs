//! A whole night with a real agent at default settings: three tasks that depend on each other, a rejection by the reviewer, a
//! pause at the boundary of two stages, a worker that is killed, and the landing in the morning.
use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::fixture::{AgentSpec, Fixture};
use super::server::WAIT_TIMEOUT;
use crate::harness::{Project, wait_until_within};

const TASKS: [&str; 3] = ["T-1", "T-2", "T-3"];
const REJECTION: &str = "greeting-T-1.txt needs a second greeting";

/// How many requests the model has answered before the coder of T-2 waits for its answer, and that of T-3.
const BEFORE_HELD_T2: usize = 10;
const BEFORE_HELD_T3: usize = 14;

/// Imports the tasks. Only the coder's check is chosen; the other stages use their defaults.
fn import_tasks(project: &Project) {
    let task = |(number, id): (usize, &&str)| {
        let needs = number.checked_sub(1).map(|before| format!("  dependencies: [{}]\n", TASKS[before]));
        format!(
            "- id: {id}\n  spec_id: greetings\n  title: Greet for {id}\n{}  completion:\n    outcome: there is a greeting\n    \
             acceptance_criteria: [there is a greeting]\n    coder: {{ verification_method: external, \
             verification_config: {{ command: grep -q hello greeting-{id}.txt }} }}\n",
            needs.unwrap_or_default()
        )
    };
    let text: String = TASKS.iter().enumerate().map(task).collect();
    let path = project.outside("tasks.yaml");
    fs::write(&path, text).unwrap();
    project.ralph(["task", "import", path.to_str().unwrap()]).output().expect(0);
}

/// The answers of the model, in the order of the stages.
fn night(project: &Project) -> Value {
    import_tasks(project);
    let write = |task: &str, name: &str| {
        let path = project.state().join("trees").join(task).join(name);
        json!({"write": {"path": path, "content": "hello\n"}})
    };
    let say = |promise: &str| json!({"say": format!("It is done.\n\n<promise>{promise}</promise>")});
    let held = |file: &str| json!({"say_when": {"exists": project.outside(file), "text": "It is done.\n\n<promise>IMPLEMENTATION_COMPLETE</promise>"}});
    let (coded, reviewed, tested, accepted) =
        (say("IMPLEMENTATION_COMPLETE"), say("REVIEW_PASSED"), say("TESTS_PASSED"), say("QA_PASSED"));
    let rejected = json!({"say": format!("<reject>{REJECTION}</reject>")});
    json!([
        write("T-1", "greeting-T-1.txt"),
        coded,
        rejected,
        write("T-1", "second-T-1.txt"),
        coded,
        reviewed,
        tested,
        accepted,
        write("T-2", "greeting-T-2.txt"),
        held("answer-T-2"),
        reviewed,
        tested,
        accepted,
        held("never"),
        write("T-3", "greeting-T-3.txt"),
        coded,
        reviewed,
        tested,
        accepted,
    ])
}

fn beside(fixture: &Fixture, args: &[&str]) -> String {
    fixture.ralph(args).start().wait_without_invariants().expect(0).stdout
}

/// Returns whether a loop of this stage is paused.
fn is_paused(fixture: &Fixture, task: &str, role: &str) -> bool {
    let loops: Value = serde_json::from_str(&beside(fixture, &["status", "--json"])).unwrap();
    let is_it = |entry: &Value| entry["task"] == task && entry["role"] == role && entry["status"] == "paused";
    loops.as_array().unwrap().iter().any(is_it)
}

fn stage_ends(fixture: &Fixture, task: &str) -> Vec<String> {
    let shown = fixture.ralph(&["task", "show", task, "--json"]).output().expect(0).json();
    let end = |run: &Value| format!("{} {}", run["role"].as_str().unwrap(), run["outcome"].as_str().unwrap());
    shown["runs"].as_array().unwrap().iter().map(end).collect()
}

pub fn a_night_with_a_rejection_a_pause_and_a_killed_worker_ends_landed(agent: &'static AgentSpec) {
    let fixture = Fixture::new(agent, |project| {
        project.write("README.md", "# greetings\n");
        project.commit();
        night(project)
    });
    let work = || fixture.ralph(&["work", "--until-idle", "--agent", agent.name, "--json"]);
    let first = work().start();
    fixture.server.wait_for(BEFORE_HELD_T2);
    let answer = beside(&fixture, &["pause", "T-2"]);
    assert!(answer.contains("pauses after this iteration"), "{answer}");
    fs::write(fixture.project.outside("answer-T-2"), "").unwrap();
    wait_until_within(WAIT_TIMEOUT, "the reviewer of T-2 is paused", || is_paused(&fixture, "T-2", "reviewer"));
    assert_eq!(fixture.server.asked().len(), BEFORE_HELD_T2, "a paused stage asks nothing");
    beside(&fixture, &["resume", "T-2"]);
    fixture.server.wait_for(BEFORE_HELD_T3);
    first.signal(Signal::KILL);
    first.wait_without_invariants();
    fixture.server.wait_until_left();
    work().output().expect(0);

    let all = ["coder completed", "reviewer completed", "tester completed", "qa completed"];
    let sent_back = ["coder completed", "reviewer blocked"];
    assert_eq!(stage_ends(&fixture, "T-1"), [&sent_back[..], &all[..]].concat());
    assert_eq!(
        (stage_ends(&fixture, "T-2"), stage_ends(&fixture, "T-3")),
        (all.map(str::to_owned).to_vec(), all.map(str::to_owned).to_vec())
    );
    let asked: Vec<String> = fixture.server.asked().iter().map(Value::to_string).collect();
    assert!(asked[3].contains(REJECTION), "the rejection went back: {}", asked[3]);
    assert_eq!(asked.len(), 19, "every answer was asked for exactly once");
    fixture.ralph(&[&["land"], &TASKS[..]].concat()).output().expect(0);
    for name in ["greeting-T-1.txt", "second-T-1.txt", "greeting-T-2.txt", "greeting-T-3.txt"] {
        assert_eq!(fs::read_to_string(fixture.project.root().join(name)).unwrap(), "hello\n", "{name}");
    }
}
