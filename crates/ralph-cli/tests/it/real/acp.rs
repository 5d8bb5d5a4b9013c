//! OpenCode, talked to in the Agent Client Protocol.
use rustix::process::Signal;
use serde_json::json;

use super::opencode;
use super::scene::{Needs, Real, Scene, Sessions, Set};
use super::stories::DONE;
use super::tests;

const ACP: Real = Real {
    name: "acp",
    set: Set::Usual,
    program: "opencode-{platform}/bin/opencode",
    settle,
    sessions: Sessions::In(".local/share/opencode"),
    needs: Needs::Nothing,
};

fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    started_with(scene, "acp");
    opencode::settle(scene)
}

/// Names the program, which lies on PATH, and the argument that makes it speak the protocol.
pub(super) fn started_with(scene: &Scene, argument: &str) {
    let settings = format!("agents: {{acp: {{cli: acp, args: [{argument}]}}}}\nlimits: {{after_result: 3s}}\n");
    scene.settings(".config/ralph/config.yaml", &settings);
}

tests!(ACP: a_lie_is_rejected_and_real_work_is_proven, a_server_that_fails_and_limits_for_a_moment_is_survived,
    a_promise_in_a_broken_answer_is_no_claim, ctrl_c_mid_stream_leaves_no_process, a_lost_session_begins_afresh,
    an_invalid_key_is_reported);

/// Its models are values of a setting.
// spec: A10, A6
#[test]
fn the_model_is_chosen() {
    let scene = Scene::new(&ACP, |_| json!([{"say": DONE}]));
    let answer = scene.run("Do the work.").args(["--model", "scripted/other"]).output().expect(0);
    assert_eq!(scene.server.asked()[0]["model"], "other", "{}", answer.stdout);
    let unknown = scene.run("Do the work.").args(["--model", "scripted/none", "--max-retries", "0"]).output();
    let reason = unknown.expect(4).finished()["reason"].to_string();
    assert!(reason.contains("the agent refused the model"), "{reason}");
}

/// The model sees what was said before, and what was said before is no claim.
// spec: A10, A1, L10, S2
#[test]
fn the_session_goes_on_with_all_that_was_said() {
    let scene = Scene::new(&ACP, |_| json!([{"say": DONE}, {"say": "There is more to do."}]));
    let limits = ["--check", "false", "--max-iterations", "2"];
    let answer = scene.run("Remember the word marzipan.").args(limits).output().expect(3);
    let asked = scene.server.asked();
    assert!(asked[1].to_string().contains("marzipan") && asked[1].to_string().contains("The work is finished."));
    let sessions: Vec<_> =
        answer.named("attempt.ended").iter().map(|event| event["result"]["session"].clone()).collect();
    assert!(sessions[0].is_string() && sessions[0] == sessions[1], "{sessions:?}");
    assert_eq!(answer.named("claim")[1]["claim"]["claimed"], false, "{}", answer.stdout);
}

/// It is cancelled in the protocol, and needs no signal.
// spec: A10, A7, L12
#[test]
fn ctrl_c_cancels_the_turn() {
    let scene = Scene::new(&ACP, |_| json!([{"hang": {"mid_stream": "One two three"}}]));
    let running = scene.run("Do the work.").args(["--grace", "60s"]).start();
    scene.server.wait_for(1);
    running.signal(Signal::INT);
    let answer = running.wait().expect(130);
    let ended = &answer.named("attempt.ended")[0]["result"];
    assert_eq!(ended["status"], "interrupted");
    let log = String::from_utf8_lossy(&scene.project.log("iteration-001.ndjson")).into_owned();
    assert!(log.contains("\"stopReason\":\"cancelled\""), "{log}");
}

// spec: A10, A6
#[test]
fn what_it_asks_for_is_answered_by_the_permission() {
    let script = |project: &crate::harness::Project| {
        let command = format!("echo hi > {}", project.root().join("made").display());
        json!([{"run": command}, {"say": DONE}])
    };
    for (permission, is_made) in [("full", true), ("edits", false)] {
        let scene = Scene::new(&ACP, script);
        let call = scene.run("Do it.").args(["--permission", permission, "--max-iterations", "1"]);
        let answer = call.env("OPENCODE_PERMISSION", "{\"bash\":\"ask\"}").output();
        assert_eq!(scene.project.root().join("made").exists(), is_made, "{permission}: {}", answer.stdout);
    }
}
