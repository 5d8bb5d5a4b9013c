//! OpenCode with the Agent Client Protocol.
use rustix::process::Signal;
use serde_json::json;

use super::fixture::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage};
use super::opencode;
use super::scenarios::DONE;
use super::tests;

const ACP: AgentSpec = AgentSpec {
    name: "acp",
    set: AgentSet::Standard,
    program: "opencode-{platform}/bin/opencode",
    configure,
    sessions: SessionStorage::Folder(".local/share/opencode"),
    edit_permission: EditPermission::Default,
};

fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    started_with(fixture, "acp");
    opencode::configure(fixture)
}

/// Asserts the program, which is on PATH, and the argument that enables the protocol.
pub(super) fn started_with(fixture: &Fixture, argument: &str) {
    let settings = format!("agents: {{acp: {{cli: acp, args: [{argument}]}}}}\nlimits: {{after_result: 3s}}\n");
    fixture.settings(".config/ralph/config.yaml", &settings);
}

tests!(ACP: a_false_claim_is_rejected_and_real_work_is_verified, temporary_server_failures_and_rate_limits_are_survived,
    a_promise_in_a_broken_answer_is_not_a_claim, ctrl_c_mid_stream_leaves_no_process, a_lost_session_is_replaced_by_a_new_one,
    an_invalid_key_is_reported);

/// Its models are values of a setting.
// spec: A10, A6
#[test]
fn the_model_is_chosen() {
    let fixture = Fixture::new(&ACP, |_| json!([{"say": DONE}]));
    let answer = fixture.run("Do the work.").args(["--model", "scripted/other"]).output().expect(0);
    assert_eq!(fixture.server.asked()[0]["model"], "other", "{}", answer.stdout);
    let unknown = fixture.run("Do the work.").args(["--model", "scripted/none", "--max-retries", "0"]).output();
    let reason = unknown.expect(4).finished()["reason"].to_string();
    assert!(reason.contains("the agent refused the model"), "{reason}");
}

/// The model sees the history, and the history is not a claim.
// spec: A10, A1, L10, S2
#[test]
fn the_session_continues_with_its_history() {
    let fixture = Fixture::new(&ACP, |_| json!([{"say": DONE}, {"say": "There is more to do."}]));
    let limits = ["--check", "false", "--max-iterations", "2"];
    let answer = fixture.run("Remember the word marzipan.").args(limits).output().expect(3);
    let asked = fixture.server.asked();
    assert!(asked[1].to_string().contains("marzipan") && asked[1].to_string().contains("The work is finished."));
    let sessions: Vec<_> =
        answer.events_named("attempt.ended").iter().map(|event| event["result"]["session"].clone()).collect();
    assert!(sessions[0].is_string() && sessions[0] == sessions[1], "{sessions:?}");
    assert_eq!(answer.events_named("claim")[1]["claim"]["claimed"], false, "{}", answer.stdout);
}

/// It is cancelled through the protocol, without a signal.
// spec: A10, A7, L12
#[test]
fn ctrl_c_cancels_the_turn() {
    let fixture = Fixture::new(&ACP, |_| json!([{"hang": {"mid_stream": "One two three"}}]));
    let running = fixture.run("Do the work.").args(["--grace", "60s"]).start();
    fixture.server.wait_for(1);
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    let ended = &answer.events_named("attempt.ended")[0]["result"];
    assert_eq!(ended["status"], "interrupted");
    let log = String::from_utf8_lossy(&fixture.project.log("iteration-001.ndjson")).into_owned();
    assert!(log.contains("\"stopReason\":\"cancelled\""), "{log}");
}

// spec: A10, A6
#[test]
fn permission_requests_of_the_agent_are_answered_from_the_setting() {
    let script = |project: &crate::harness::Project| {
        let command = format!("echo hi > {}", project.root().join("made").display());
        json!([{"run": command}, {"say": DONE}])
    };
    for (permission, is_made) in [("full", true), ("edits", false)] {
        let fixture = Fixture::new(&ACP, script);
        let call = fixture.run("Do it.").args(["--permission", permission, "--max-iterations", "1"]);
        let answer = call.env("OPENCODE_PERMISSION", "{\"bash\":\"ask\"}").output();
        assert_eq!(fixture.project.root().join("made").exists(), is_made, "{permission}: {}", answer.stdout);
    }
}
