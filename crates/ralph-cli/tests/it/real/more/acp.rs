//! Agents of several makers, talked to in the Agent Client Protocol. Each repeats an old conversation, or stays after its
//! answer, in a way of its own.
use serde_json::{Value, json};

use super::{Needs, Real, Scene, Sessions, Set, copilot, gemini, goose, qwen};
use crate::real::acp::started_with;
use crate::real::stories;

const COPILOT: Real = Real {
    name: "acp",
    set: Set::More,
    program: "@github/copilot/npm-loader.js",
    settle: |scene| {
        started_with(scene, "--acp");
        copilot::settle(scene)
    },
    sessions: Sessions::In(".copilot"),
    needs: Needs::Nothing,
};

/// It stays alive after its input has ended.
const GOOSE: Real = Real {
    name: "acp",
    set: Set::More,
    program: "@aaif/goose-binary-{platform}/bin/goose",
    settle: |scene| {
        started_with(scene, "acp");
        goose::settle(scene)
    },
    sessions: Sessions::In(".local/share/goose"),
    needs: Needs::Nothing,
};

/// It lists a long set of commands, in one line of half a megabyte.
const QWEN: Real = Real {
    name: "acp",
    set: Set::More,
    program: "@qwen-code/qwen-code/cli-entry.js",
    settle: |scene| {
        started_with(scene, "--acp");
        qwen::settle(scene)
    },
    sessions: Sessions::In(".qwen/projects"),
    needs: Needs::Nothing,
};

/// It cannot be loaded safely, and begins afresh.
const GEMINI: Real = Real {
    name: "acp",
    set: Set::More,
    program: "@google/gemini-cli/bundle/gemini.js",
    settle: |scene| {
        started_with(scene, "--acp");
        gemini::settle(scene)
    },
    sessions: Sessions::None,
    needs: Needs::Nothing,
};

#[test]
fn copilot_gets_from_a_lie_to_the_proof() {
    stories::a_lie_is_rejected_and_real_work_is_proven(&COPILOT);
}

#[test]
fn goose_gets_from_a_lie_to_the_proof() {
    stories::a_lie_is_rejected_and_real_work_is_proven(&GOOSE);
}

#[test]
fn qwen_gets_from_a_lie_to_the_proof() {
    stories::a_lie_is_rejected_and_real_work_is_proven(&QWEN);
}

#[test]
fn qwen_is_cancelled() {
    stories::ctrl_c_mid_stream_leaves_no_process(&QWEN);
}

#[test]
fn qwen_reports_an_invalid_key() {
    stories::an_invalid_key_is_reported(&QWEN);
}

#[test]
fn copilot_is_cancelled() {
    stories::ctrl_c_mid_stream_leaves_no_process(&COPILOT);
}

#[test]
fn goose_is_cancelled() {
    stories::ctrl_c_mid_stream_leaves_no_process(&GOOSE);
}

// spec: A10, A1, L10
#[test]
fn gemini_begins_afresh_each_time() {
    let scene = Scene::new(&GEMINI, |_| json!([{"say": "seven"}, {"say": stories::DONE}]));
    let answer = scene.run("Do the work.").output().expect(0);
    let ends = answer.named("attempt.ended");
    let sessions: Vec<&Value> = ends.iter().map(|end| &end["result"]["session"]).collect();
    assert_eq!(sessions, [&Value::Null, &Value::Null]);
    let asked = scene.server.asked();
    assert!(asked[1].to_string().contains("Do the work.") && !asked[1].to_string().contains("seven"));
}
