//! Conversations over HTTP: messages start workflows, and their messages come back.
use std::fs;
use std::process::Command;
use std::sync::Barrier;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::server_process::ServerProcess;
use crate::harness::{FAKE_AGENT, Project, wait_until};

/// The loop of the first specification, as a user of its engine wrote it.
pub const RALPH_LOOP: &str = r#"
name: ralph
description: |
  Autonomous iteration loop that implements PRD stories one by one.
  Use when: You have a prd.json with user stories to implement autonomously.
  Triggers: "run ralph", "implement all stories", "autonomous loop".
loop:
  until: COMPLETE
  max_iterations: 20
  fresh_context: false
prompt: |
  Work on the next story. $USER_MESSAGE
  If all stories are complete, output <promise>COMPLETE</promise>
"#;

/// An approval, then a script.
pub const RELEASE: &str = r#"
name: release
description: |
  Asks before it publishes.
  Triggers: "ship it"
nodes:
  - id: ask
    approval:
      message: Publish?
  - id: publish
    depends_on: [ask]
    bash: printf published
"#;

/// A committed and approved project with these workflows, whose agent follows a script. `more` is added to the user's file.
pub fn project_with(workflows: &[(&str, &str)], script: &str, more: &str) -> Project {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    for (name, yaml) in workflows {
        project.write(&format!(".ralph/workflows/{name}.yaml"), yaml);
    }
    project.commit();
    project.trust();
    let script = project.script(script);
    let folder = project.home().join(".config/ralph");
    fs::create_dir_all(&folder).unwrap();
    let agent =
        format!("agent: mine\nagents: {{mine: {{type: text, cli: '{FAKE_AGENT}', args: [script, '{script}']}}}}\n");
    fs::write(folder.join("config.yaml"), format!("{agent}{more}")).unwrap();
    project
}

/// Sends a message to a conversation without a token.
pub fn send(server: &ServerProcess<'_>, conversation: &str, message: &str) {
    let answer =
        server.post("/test/message", &json!({ "conversationId": conversation, "message": message })).expect(200);
    assert_eq!(answer.json(), json!({ "success": true, "conversationId": conversation, "message": message }));
}

/// Returns what ralph has written in a conversation.
pub fn messages(server: &ServerProcess<'_>, conversation: &str) -> Vec<String> {
    let answer = server.get(&format!("/test/messages/{conversation}")).expect(200).json();
    assert_eq!(answer["conversationId"], conversation);
    let messages = answer["messages"].as_array().unwrap();
    messages.iter().map(|message| message["message"].as_str().unwrap().to_owned()).collect()
}

/// Waits until ralph has written a message with these words, and returns all of them.
pub fn wait_for_message(server: &ServerProcess<'_>, conversation: &str, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    wait_until(&format!("{conversation} has {words:?}"), || {
        found = messages(server, conversation);
        found.iter().any(|message| message.contains(words))
    });
    found
}

/// Returns the positions of messages with these words, in the order of the words.
fn positions(messages: &[String], words: &[&str]) -> Vec<usize> {
    let position = |words: &&str| {
        let found = messages.iter().position(|message| message.contains(words));
        found.unwrap_or_else(|| panic!("{words:?} is not in {messages:#?}"))
    };
    words.iter().map(position).collect()
}

const TWO_ITERATIONS: &str =
    "text One story is done.\n---\ntext All stories are done.\ntext <promise>COMPLETE</promise>\n";

// spec: W9, W8
#[test]
fn the_manual_validation_of_the_first_specification_works_word_for_word() {
    let project = project_with(&[("ralph", RALPH_LOOP)], TWO_ITERATIONS, "");
    let server = ServerProcess::start(&project, &[]);
    let commands = r#"curl -X POST http://localhost:3000/test/message \
  -H "Content-Type: application/json" \
  -d '{"conversationId":"test-ralph","message":"run ralph"}'"#;
    let shell = |command: &str| {
        let port = server.host.rsplit(':').next().unwrap();
        let command = command.replace(":3000/", &format!(":{port}/"));
        let output = Command::new("sh").args(["-c", &command]).env_remove("http_proxy").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    assert_eq!(shell(commands)["conversationId"], "test-ralph");
    let mut answer = Value::Null;
    wait_until("the loop is complete", || {
        answer = shell("curl http://localhost:3000/test/messages/test-ralph");
        answer.to_string().contains("Workflow completed")
    });
    assert_eq!(answer["conversationId"], "test-ralph");
    let list = answer["messages"].as_array().unwrap();
    for message in list {
        let names: Vec<&String> = message.as_object().unwrap().keys().collect();
        assert_eq!(names, ["message", "timestamp"]);
        assert!(message["timestamp"].as_str().unwrap().ends_with('Z'), "{message}");
    }
    let texts: Vec<String> = list.iter().map(|message| message["message"].as_str().unwrap().to_owned()).collect();
    let expected = [
        "Workflow ralph started (run ",
        "**Iteration 1/20**",
        "One story is done.",
        "**Iteration 2/20**",
        "All stories are done.",
        "**Loop complete**: ralph (2 iterations)",
        "Workflow completed: ",
    ];
    let found = positions(&texts, &expected);
    assert!(found.is_sorted(), "{texts:#?}");
    server.stop();
}

// spec: W9
#[test]
fn a_message_without_a_workflow_says_what_there_is_and_starts_nothing() {
    let project = project_with(&[("ralph", RALPH_LOOP)], TWO_ITERATIONS, "");
    let server = ServerProcess::start(&project, &[]);
    send(&server, "a", "hello");
    let said = messages(&server, "a");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("This message names no workflow."), "{said:?}");
    assert!(said[0].contains("- ralph: \"run ralph\", \"implement all stories\", \"autonomous loop\""), "{said:?}");
    send(&server, "a", "/status");
    assert_eq!(messages(&server, "a")[1], "This conversation has started no workflow.");
    send(&server, "a", "/ralphs");
    assert_eq!(
        messages(&server, "a")[2],
        "error: there is no command /ralphs; use /ralph, /cancel-ralph, /status or /workflow"
    );
    assert_eq!(project.starts(), [""; 0]);
    server.stop();
}

// spec: W9
#[test]
fn a_conversation_shows_and_cancels_its_workflow_and_has_one_at_a_time() {
    let project = project_with(&[("ralph", RALPH_LOOP)], "text working\nhang\n", "");
    let server = ServerProcess::start(&project, &[]);
    send(&server, "a", "/ralph the rest");
    project.wait_for("ready");
    send(&server, "a", "run ralph");
    wait_for_message(&server, "a", "error: this conversation has a workflow that has not ended");
    send(&server, "a", "/status");
    wait_for_message(&server, "a", "running, iteration 1/20");
    send(&server, "a", "/cancel-ralph");
    wait_for_message(&server, "a", "Workflow ralph is cancelled (run ");
    wait_for_message(&server, "a", "Workflow cancelled: ");
    send(&server, "b", "/cancel-ralph");
    assert_eq!(messages(&server, "b"), ["error: no workflow of this conversation is active"]);
    server.stop();
}

// spec: W9
// fault: 105
#[test]
fn of_messages_at_the_same_instant_one_starts_a_workflow() {
    let project = project_with(&[("ralph", RALPH_LOOP)], "text working\nhang\n", "");
    // Two servers of the project: what one of them remembers is not enough.
    let servers = [ServerProcess::start(&project, &[]), ServerProcess::start(&project, &[])];
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (server, start) = (&servers[number % 2], &start);
            scope.spawn(move || {
                start.wait();
                send(server, "a", "run ralph");
            });
        }
    });
    project.wait_for("ready");
    let said = messages(&servers[0], "a");
    let count = |words: &str| said.iter().filter(|message| message.starts_with(words)).count();
    assert_eq!(count("Workflow ralph started"), 1, "{said:#?}");
    assert_eq!(count("error: this conversation has a workflow that has not ended"), 7, "{said:#?}");
    assert_eq!(project.starts().len(), 1);
    let [first, second] = servers;
    first.running.signal(Signal::TERM);
    first.running.wait_without_invariants().expect(143);
    second.stop();
}

// spec: W9, W13, X2
#[test]
fn a_conversation_without_a_token_cannot_answer_and_one_with_the_token_can() {
    let project = project_with(&[("release", RELEASE)], "text unused\n", "");
    let server = ServerProcess::start(&project, &[]);
    send(&server, "a", "please SHIP it now");
    let said = wait_for_message(&server, "a", "ask asks:\nPublish?");
    assert!(
        said.iter().any(|message| message.contains("Answer with /workflow approve or /workflow reject")),
        "{said:?}"
    );
    send(&server, "a", "/workflow approve");
    wait_for_message(&server, "a", "this conversation cannot answer questions: it is not authenticated");
    let message = json!({ "conversationId": "a", "message": "/workflow approve" }).to_string();
    let json_type = ("Content-Type", "application/json");
    server.request("POST", "/api/conversations/message", &[json_type], &message).expect(401);
    let token = project.ralph(["serve", "--print-token"]).start().wait_without_invariants().expect(0).stdout;
    let bearer = format!("Bearer {}", token.trim());
    let headers = [json_type, ("Authorization", bearer.as_str())];
    server.request("POST", "/api/conversations/message", &headers, &message).expect(200);
    let said = wait_for_message(&server, "a", "Workflow completed: ");
    assert!(said.last().unwrap().ends_with("published"), "{said:#?}");
    let same = server.get("/api/conversations/messages/a").expect(200).json();
    assert_eq!(same["messages"].as_array().unwrap().len(), said.len());
    let listed = server.get("/api/conversations").expect(200).json();
    assert_eq!((&listed[0]["platform"], &listed[0]["conversationId"]), (&"http".into(), &"a".into()));
    server.stop();
}

// spec: W9, W13
#[test]
fn a_conversation_cannot_answer_a_question_that_it_has_not_shown() {
    let child = "name: child\ndescription: c\nnodes:\n- id: ask\n  approval:\n    message: Delete everything?\n";
    let parent = "name: parent\ndescription: |\n  Starts another one.\n  Triggers: \"go on\"\nnodes:\n- id: inner\n  workflow: child\n";
    let project = project_with(&[("child", child), ("parent", parent)], "text unused\n", "");
    let server = ServerProcess::start(&project, &[]);
    send(&server, "a", "go on");
    wait_until("the child asks", || server.get("/api/inbox").json().to_string().contains("Delete everything?"));
    let token = project.ralph(["serve", "--print-token"]).start().wait_without_invariants().expect(0).stdout;
    let bearer = format!("Bearer {}", token.trim());
    let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
    let message = json!({ "conversationId": "a", "message": "/workflow approve" }).to_string();
    server.request("POST", "/api/conversations/message", &headers, &message).expect(200);
    wait_for_message(&server, "a", "this conversation has not shown the question of ask");
    assert_eq!(server.get("/api/inbox").json()["items"][0]["kind"], "workflow_question");
    server.stop();
}

// spec: W9, X2
#[test]
fn a_message_must_be_json_of_this_host_and_have_both_fields() {
    let project = project_with(&[("ralph", RALPH_LOOP)], TWO_ITERATIONS, "");
    let server = ServerProcess::start(&project, &[]);
    let body = r#"{"conversationId":"a","message":"run ralph"}"#;
    let json_type = ("Content-Type", "application/json");
    server.request("POST", "/test/message", &[("Content-Type", "text/plain")], body).expect(403);
    server.request("POST", "/test/message", &[json_type, ("Origin", "http://evil.example")], body).expect(403);
    server.request("POST", "/test/message", &[json_type, ("Host", "evil.example")], body).expect(421);
    server.request("POST", "/test/message", &[json_type], r#"{"conversationId":"a"}"#).expect(422);
    server.request("POST", "/test/message", &[json_type], r#"{"conversationId":"","message":"x"}"#).expect(422);
    let refused = server.request("POST", "/test/message", &[json_type], "{").expect(400);
    assert!(refused.head.to_lowercase().contains("content-type: application/problem+json"), "{}", refused.head);
    assert_eq!(messages(&server, "a"), [""; 0]);
    assert_eq!(project.starts(), [""; 0]);
    server.stop();
}

// spec: W9, W8
#[test]
fn in_stream_mode_messages_come_one_by_one_with_the_progress_of_the_nodes() {
    let script = "text First.\ntext <promise>COMPLETE</promise>\n";
    let project = project_with(&[("ralph", RALPH_LOOP)], script, "platforms: {mode: stream}\n");
    let server = ServerProcess::start(&project, &[]);
    send(&server, "a", "run ralph");
    let said = wait_for_message(&server, "a", "Workflow completed: ");
    let found = positions(&said, &["loop  started", "First.", "loop  completed", "Workflow completed"]);
    assert!(found.is_sorted(), "{said:#?}");
    server.stop();
}

// spec: W9, L13
// fault: 1
#[test]
fn after_a_killed_server_the_messages_of_the_run_continue_to_reach_the_conversation() {
    let script = "text One story is done.\nhang\n---\ntext All done.\ntext <promise>COMPLETE</promise>\n";
    let project = project_with(&[("ralph", RALPH_LOOP)], script, "");
    let server = ServerProcess::start(&project, &[]);
    send(&server, "a", "run ralph");
    project.wait_for("ready");
    wait_for_message(&server, "a", "**Iteration 1/20**");
    server.running.signal(Signal::KILL);
    server.running.wait_without_invariants();
    let server = ServerProcess::start(&project, &[]);
    let said = wait_for_message(&server, "a", "Workflow completed: ");
    let count = |words: &str| said.iter().filter(|message| message.contains(words)).count();
    assert_eq!(count("Workflow ralph started"), 1, "{said:#?}");
    assert_eq!(count("**Loop complete**: ralph"), 1, "{said:#?}");
    assert_eq!(count("All done."), 1, "{said:#?}");
    assert_eq!(project.starts().len(), 2);
    server.stop();
}

// spec: W9, L13
#[test]
fn messages_of_a_run_that_another_process_continues_reach_the_conversation() {
    let project = project_with(&[("release", RELEASE)], "text unused\n", "");
    let server = ServerProcess::start(&project, &[]);
    send(&server, "a", "ship it");
    wait_for_message(&server, "a", "ask asks:");
    server.stop();
    project.ralph(["workflow", "approve", "--json"]).output().expect(0);
    let server = ServerProcess::start(&project, &[]);
    let said = wait_for_message(&server, "a", "Workflow completed: ");
    assert!(said.last().unwrap().ends_with("published"), "{said:#?}");
    server.stop();
}
