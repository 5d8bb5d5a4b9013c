//! GitHub Copilot CLI, with a provider of our own.
use super::{Needs, Real, Scene, Sessions, Set, tests};
use serde_json::json;

use crate::real::in_session::{Host, sessions, shared_sessions, words};

const COPILOT: Real = Real {
    name: "copilot",
    set: Set::More,
    program: "@github/copilot/npm-loader.js",
    settle,
    sessions: Sessions::In(".copilot/session-state"),
    needs: Needs::Nothing,
};

pub(super) fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    vec![
        ("COPILOT_OFFLINE", "true".to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", scene.server.url())),
        ("COPILOT_PROVIDER_API_KEY", "scripted-key".to_owned()),
        ("COPILOT_MODEL", "scripted".to_owned()),
    ]
}

tests!(COPILOT: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_server_that_fails_and_limits_for_a_moment_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_begins_afresh, a_limit_that_lasts_is_waited_for,
    an_agent_that_only_repeats_requests_is_stopped);

const SESSION: Host = Host {
    real: &COPILOT,
    mark: '/',
    begin: |id| words(&["--output-format", "json", "--yolo", "--no-ask-user", "--session-id", id]),
    resume: |id| words(&["--output-format", "json", "--yolo", "--no-ask-user", &format!("--resume={id}")]),
    id: None,
    trust: |scene| {
        let folders = json!({ "trusted_folders": [scene.project.root()] });
        scene.settings(".copilot/config.json", &folders.to_string());
    },
};

sessions!(SESSION);
shared_sessions!(SESSION);
