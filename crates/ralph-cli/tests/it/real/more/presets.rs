//! ACP programs with a name of their own.
use serde_json::{Value, json};

use super::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage};
use crate::real::scenarios::{self, DONE};
use crate::real::{claude, codex};

/// It starts the Claude Code of its own package.
const CLAUDE_AGENT_ACP: AgentSpec = AgentSpec {
    name: "claude-agent-acp",
    set: AgentSet::Extra,
    program: "@agentclientprotocol/claude-agent-acp/dist/index.js",
    configure: configure_claude,
    sessions: SessionStorage::Folder(".claude/projects"),
    edit_permission: EditPermission::Default,
};

/// It starts the Codex of its own package.
const CODEX_ACP: AgentSpec = AgentSpec {
    name: "codex-acp",
    set: AgentSet::Extra,
    program: "@agentclientprotocol/codex-acp/dist/index.js",
    configure: codex::configure,
    sessions: SessionStorage::Folder(".codex/sessions"),
    edit_permission: EditPermission::Default,
};

/// As root it needs the variable with which a container says what it is.
fn configure_claude(fixture: &Fixture) -> Vec<(&'static str, String)> {
    claude::configure(fixture).into_iter().chain([("IS_SANDBOX", "1".to_owned())]).collect()
}

/// It reports a rejected key without the words of the API.
fn a_missing_login_is_reported(agent: &'static AgentSpec) {
    let fixture = Fixture::new(agent, |_| json!([{"refuse": {"status": 401}}]));
    let answer = fixture.run("Do the work.").output().expect(4);
    let reason = answer.finished()["reason"].to_string();
    assert!(reason.contains("Authentication required (hint: run `"), "{reason}");
    assert_eq!(answer.events_named("attempt.ended").len(), 1, "no retry helps: {}", answer.stdout);
}

// finding: N75
// spec: A10, A1, L1
#[test]
fn claude_agent_gets_from_a_false_claim_to_verified_work() {
    let fixture = Fixture::new(&CLAUDE_AGENT_ACP, |project| {
        let file = project.root().join("greeting.txt");
        json!([{"say": DONE}, {"write": {"path": file, "content": "hello\n"}}, {"say": DONE}])
    });
    let proof = ["--check", "grep hello greeting.txt", "--max-iterations", "2"];
    let answer = fixture.run("Write a greeting.").args(proof).output().expect(0);
    let verdicts: Vec<Value> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"], "{}", answer.stdout);
    // It also sends a request of its own, so their number is not known.
    let asked = fixture.server.asked();
    let has_reason = |request: &Value| request.to_string().contains("grep hello greeting.txt");
    assert!(asked.iter().skip(1).any(has_reason), "the reason went back");
}

// finding: N75
// spec: A10, A8
#[test]
fn claude_agent_reports_a_missing_login() {
    a_missing_login_is_reported(&CLAUDE_AGENT_ACP);
}

// finding: N75
// spec: A10, A7
#[test]
fn claude_agent_is_cancelled() {
    scenarios::ctrl_c_mid_stream_leaves_no_process(&CLAUDE_AGENT_ACP);
}

// finding: N75
// spec: A10, A1, L1
#[test]
fn codex_gets_from_a_false_claim_to_verified_work() {
    scenarios::a_false_claim_is_rejected_and_real_work_is_verified(&CODEX_ACP);
}

// finding: N75
// spec: A10, A8
#[test]
fn codex_reports_a_missing_login() {
    a_missing_login_is_reported(&CODEX_ACP);
}

// finding: N75
// spec: A10, A7
#[test]
fn codex_is_cancelled() {
    scenarios::ctrl_c_mid_stream_leaves_no_process(&CODEX_ACP);
}
