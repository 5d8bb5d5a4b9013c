//! Agents of several vendors with the Agent Client Protocol. They differ in how they replay a conversation and when
//! they exit.
use serde_json::{Value, json};

use super::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage, copilot, gemini, goose, qwen};
use crate::real::acp::started_with;
use crate::real::scenarios;

const COPILOT: AgentSpec = AgentSpec {
    name: "acp",
    set: AgentSet::Extra,
    program: "@github/copilot/npm-loader.js",
    configure: |fixture| {
        started_with(fixture, "--acp");
        copilot::configure(fixture)
    },
    sessions: SessionStorage::Folder(".copilot"),
    edit_permission: EditPermission::Default,
};

/// It stays alive after its input has ended.
const GOOSE: AgentSpec = AgentSpec {
    name: "acp",
    set: AgentSet::Extra,
    program: "@aaif/goose-binary-{platform}/bin/goose",
    configure: |fixture| {
        started_with(fixture, "acp");
        goose::configure(fixture)
    },
    sessions: SessionStorage::Folder(".local/share/goose"),
    edit_permission: EditPermission::Default,
};

/// It lists a long set of commands, in one line of half a megabyte.
const QWEN: AgentSpec = AgentSpec {
    name: "acp",
    set: AgentSet::Extra,
    program: "@qwen-code/qwen-code/cli-entry.js",
    configure: |fixture| {
        started_with(fixture, "--acp");
        qwen::configure(fixture)
    },
    sessions: SessionStorage::Folder(".qwen/projects"),
    edit_permission: EditPermission::Default,
};

/// Its sessions cannot be loaded safely, so each start is a new one.
const GEMINI: AgentSpec = AgentSpec {
    name: "acp",
    set: AgentSet::Extra,
    program: "@google/gemini-cli/bundle/gemini.js",
    configure: |fixture| {
        started_with(fixture, "--acp");
        gemini::configure(fixture)
    },
    sessions: SessionStorage::None,
    edit_permission: EditPermission::Default,
};

#[test]
fn copilot_gets_from_a_false_claim_to_verified_work() {
    scenarios::a_false_claim_is_rejected_and_real_work_is_verified(&COPILOT);
}

#[test]
fn goose_gets_from_a_false_claim_to_verified_work() {
    scenarios::a_false_claim_is_rejected_and_real_work_is_verified(&GOOSE);
}

#[test]
fn qwen_gets_from_a_false_claim_to_verified_work() {
    scenarios::a_false_claim_is_rejected_and_real_work_is_verified(&QWEN);
}

#[test]
fn qwen_is_cancelled() {
    scenarios::ctrl_c_mid_stream_leaves_no_process(&QWEN);
}

#[test]
fn qwen_reports_an_invalid_key() {
    scenarios::an_invalid_key_is_reported(&QWEN);
}

#[test]
fn copilot_is_cancelled() {
    scenarios::ctrl_c_mid_stream_leaves_no_process(&COPILOT);
}

#[test]
fn goose_is_cancelled() {
    scenarios::ctrl_c_mid_stream_leaves_no_process(&GOOSE);
}

// spec: A10, A1, L10
#[test]
fn gemini_starts_a_new_session_each_time() {
    let fixture = Fixture::new(&GEMINI, |_| json!([{"say": "seven"}, {"say": scenarios::DONE}]));
    let answer = fixture.run("Do the work.").output().expect(0);
    let ends = answer.events_named("attempt.ended");
    let sessions: Vec<&Value> = ends.iter().map(|end| &end["result"]["session"]).collect();
    assert_eq!(sessions, [&Value::Null, &Value::Null]);
    let asked = fixture.server.asked();
    assert!(asked[1].to_string().contains("Do the work.") && !asked[1].to_string().contains("seven"));
}
