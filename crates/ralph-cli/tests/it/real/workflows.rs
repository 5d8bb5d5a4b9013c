//! Workflows with the real Claude Code: its sessions, and the hooks of a node.
use serde_json::{Value, json};

use super::claude::CLAUDE;
use super::fixture::Fixture;
use crate::harness::{CallOutput, Project};

/// Creates a project with a workflow, which is committed and approved.
fn fixture_with(nodes: &str, script: impl FnOnce(&Project) -> Value) -> Fixture {
    let fixture = Fixture::new(&CLAUDE, script);
    std::fs::create_dir_all(fixture.project.root().join(".ralph/workflows")).unwrap();
    fixture.project.write(".ralph/workflows/w.yaml", format!("name: w\ndescription: d\n{nodes}"));
    fixture.project.commit();
    fixture.project.trust();
    fixture
}

fn run(fixture: &Fixture) -> CallOutput {
    fixture.ralph(&["workflow", "run", "w", "--agent", "claude", "--no-worktree", "--json"]).output()
}

/// Returns the sessions of the attempts of a node, as Claude has reported them.
fn sessions(fixture: &Fixture, node: &str) -> Vec<String> {
    let shown = fixture.ralph(&["show", "--json"]).output().expect(0).json();
    let found = shown["nodes"].as_array().unwrap().iter().find(|found| found["node"] == node).unwrap();
    let run = found["runs"][0].as_str().unwrap().to_owned();
    let events = fixture.ralph(&["events", &run]).output().expect(0).stdout;
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = events.filter(|event| event["event"] == "attempt.ended");
    ended.map(|event| event["result"]["session"].as_str().unwrap().to_owned()).collect()
}

// spec: A10, W4
#[test]
fn a_loop_keeps_the_session_of_claude_unless_fresh_context_is_set() {
    for (fresh, is_same) in [("false", true), ("true", false)] {
        let nodes = format!(
            "loop: {{until: COMPLETE, max_iterations: 4, fresh_context: {fresh}}}\n\
             prompt: Do one story, then say <promise>COMPLETE</promise> when all are done.\n"
        );
        let script = json!([{"say": "finished A-17"}, {"say": "finished B-18"}, {"say": "All done. <promise>COMPLETE</promise>"}]);
        let fixture = fixture_with(&nodes, |_| script);
        run(&fixture).expect(0);
        let shown = fixture.ralph(&["show", "--json"]).output().expect(0).json();
        let sessions = sessions(&fixture, shown["nodes"][0]["node"].as_str().unwrap());
        assert_eq!(sessions.len(), 3);
        assert_eq!(sessions[0] == sessions[1], is_same, "fresh_context: {fresh}: {sessions:?}");
        assert_eq!(sessions[1] == sessions[2], is_same, "fresh_context: {fresh}: {sessions:?}");
        let last = fixture.server.asked().pop().unwrap().to_string();
        assert_eq!(last.contains("finished A-17"), is_same, "the conversation so far: {last}");
    }
}

// spec: A10, W3
#[test]
fn a_fork_has_the_conversation_of_its_node_and_a_session_of_its_own() {
    let nodes = "nodes:
  - id: plan
    prompt: Make a plan.
  - id: other
    depends_on: [plan]
    context: {resume: plan}
    prompt: Take another way.
";
    let fixture = fixture_with(nodes, |_| json!([{"say": "the plan is P-17"}, {"say": "another way"}]));
    run(&fixture).expect(0);
    let (plan, other) = (sessions(&fixture, "plan"), sessions(&fixture, "other"));
    assert_ne!(plan, other, "a fork");
    assert!(fixture.server.asked().pop().unwrap().to_string().contains("the plan is P-17"));
}

// spec: A10, W3
#[test]
fn a_hook_of_a_node_keeps_claude_from_using_the_tool() {
    let hooks = "    hooks:
      PreToolUse:
        - matcher: Write
          response:
            hookSpecificOutput:
              hookEventName: PreToolUse
              permissionDecision: deny
              permissionDecisionReason: this node only reads
";
    for (hooks, is_written) in [(hooks, false), ("", true)] {
        let nodes = format!("nodes:\n  - id: read\n    prompt: Write a file.\n{hooks}");
        let fixture = fixture_with(&nodes, |project| {
            let path = project.root().join("made.txt").display().to_string();
            json!([{"write": {"path": path, "content": "x"}}, {"say": "It is done."}])
        });
        run(&fixture).expect(0);
        assert_eq!(fixture.project.root().join("made.txt").exists(), is_written);
        let asked = fixture.server.asked().pop().unwrap().to_string();
        assert_eq!(asked.contains("this node only reads"), !is_written, "{asked}");
    }
}
