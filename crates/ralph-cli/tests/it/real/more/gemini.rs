//! Gemini CLI.
use serde_json::json;

use super::{Needs, Real, Scene, Sessions, Set, tests};
use crate::real::in_session::{Host, sessions, shared_sessions, words};

const GEMINI: Real = Real {
    name: "gemini",
    set: Set::More,
    program: "@google/gemini-cli/bundle/gemini.js",
    settle,
    sessions: Sessions::In(".gemini/tmp"),
    needs: Needs::Nothing,
};

pub(super) fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    let settings = json!({"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "security": {"auth": {"selectedType": "gemini-api-key"}}});
    scene.settings(".gemini/settings.json", &settings.to_string());
    vec![("GEMINI_API_KEY", "scripted-key".to_owned()), ("GOOGLE_GEMINI_BASE_URL", scene.server.url())]
}

tests!(GEMINI: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_server_that_fails_and_limits_for_a_moment_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_begins_afresh, a_limit_for_the_day_is_waited_for,
    an_agent_that_only_repeats_requests_is_stopped);

const SESSION: Host = Host {
    real: &GEMINI,
    mark: '/',
    begin: |id| words(&["-o", "stream-json", "-y", "-m", "gemini-2.5-pro", "--skip-trust", "--session-id", id]),
    resume: |id| words(&["-o", "stream-json", "-y", "-m", "gemini-2.5-pro", "--skip-trust", "--resume", id]),
    id: None,
    trust: |scene| {
        let folders = json!({ scene.project.root().display().to_string(): "TRUST_FOLDER" });
        scene.settings(".gemini/trustedFolders.json", &folders.to_string());
    },
};

sessions!(SESSION);
shared_sessions!(SESSION);
