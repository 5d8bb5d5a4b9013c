//! Qwen Code.
use serde_json::json;

use super::{Needs, Real, Scene, Sessions, Set, tests};
use crate::real::in_session::{Host, sessions, shared_sessions, words};

const QWEN: Real = Real {
    name: "qwen",
    set: Set::More,
    program: "@qwen-code/qwen-code/cli-entry.js",
    settle,
    sessions: Sessions::In(".qwen/projects"),
    needs: Needs::Nothing,
};

/// Left to itself, it asks the model after each turn what is worth remembering, with tools of that talk's own.
pub(super) fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    let settings = json!({"memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
        "privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false}, "ui": {"enableFollowupSuggestions": false}});
    scene.settings(".qwen/settings.json", &settings.to_string());
    vec![
        ("OPENAI_API_KEY", "scripted-key".to_owned()),
        ("OPENAI_BASE_URL", format!("{}/v1", scene.server.url())),
        ("OPENAI_MODEL", "scripted".to_owned()),
    ]
}

tests!(QWEN: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_server_that_fails_and_limits_for_a_moment_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_begins_afresh,
    an_agent_that_only_repeats_requests_is_stopped);

const SESSION: Host = Host {
    real: &QWEN,
    mark: '/',
    begin: |id| words(&["-o", "stream-json", "-y", "--session-id", id]),
    resume: |id| words(&["-o", "stream-json", "-y", "--resume", id]),
    id: None,
    trust: |_| (),
};

sessions!(SESSION);
shared_sessions!(SESSION);
