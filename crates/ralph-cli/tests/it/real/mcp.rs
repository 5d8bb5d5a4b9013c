//! The real agents call the tools of `ralph mcp`, which is added to them as the guide says.
use serde_json::{Value, json};

use super::fixture::{AgentSpec, Fixture};
use super::{claude, codex};

const RALPH: &str = env!("CARGO_BIN_EXE_ralph");

/// Adds the server with the agent's own command.
fn add_server(fixture: &Fixture, options: &[&str]) {
    let args = [&["mcp", "add"], options, &["ralph", "--", RALPH, "mcp"]].concat();
    let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
    fixture.session(&args).start().wait_without_invariants().expect(0);
}

/// The agent reads its task, works, and claims completion with the tool; the check confirms it.
fn a_claim_by_the_tool_is_verified(agent: &'static AgentSpec, options: &[&str], prepare: fn(&Fixture)) {
    let fixture = Fixture::new(agent, |_| {
        json!([
            {"tool": {"name": "read_task", "input": {}}},
            {"run": "echo hello > greeting.txt"},
            {"tool": {"name": "claim_completion", "input": {"run": "$RUN", "summary": "There is a greeting."}}},
            {"say": "The greeting is there."},
        ])
    });
    prepare(&fixture);
    let proof = ["--check", "grep hello greeting.txt", "--max-iterations", "1"];
    let answer = fixture.run("Write a greeting.").args(proof).args(options).output();
    let claim = answer.events_named("claim").pop().unwrap()["claim"]["why"].clone();
    let said = fixture.server.asked().iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    assert_eq!(claim, "asserted with the tool claim_completion, and no work followed", "{}\n{said}", answer.stdout);
    let answer = answer.expect(0);
    assert_eq!(answer.events_named("agent.reported")[0]["words"], "There is a greeting.");
    assert_eq!(answer.events_named("verdict")[0]["verdict"], "accepted");
    let task = &fixture.server.asked()[1].to_string();
    assert!(task.contains("Write a greeting."), "the tool has returned the task: {task}");
}

// spec: A10, U8
#[test]
fn claude_claims_with_the_tool() {
    a_claim_by_the_tool_is_verified(&claude::CLAUDE, &[], |fixture| {
        fixture.settings(".claude/settings.json", r#"{"permissions": {"allow": ["mcp__ralph", "Bash(echo:*)"]}}"#);
        add_server(fixture, &["--scope", "user"]);
    });
}

/// Its newest models find the tools of a server only by a search, which the scripted model does not make.
// spec: A10, U8
#[test]
fn codex_claims_with_the_tool() {
    let model = ["--model", "gpt-5.1"];
    a_claim_by_the_tool_is_verified(&codex::CODEX, &model, |fixture| add_server(fixture, &[]));
}
