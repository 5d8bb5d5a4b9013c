//! OpenCode.
use serde_json::json;

use super::scene::{Needs, Real, Scene, Sessions, Set};
use super::tests;

const OPENCODE: Real = Real {
    name: "opencode",
    set: Set::Usual,
    program: "opencode-{platform}/bin/opencode",
    settle,
    sessions: Sessions::In(".local/share/opencode"),
    needs: Needs::Nothing,
};

pub(super) fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    let model = json!({"name": "Scripted", "limit": {"context": 128_000, "output": 8_192},
        "cost": {"input": 1, "output": 2, "cache_read": 0.1}});
    let options = json!({"baseURL": format!("{}/v1", scene.server.url()), "apiKey": "scripted-key"});
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": options,
        "models": {"scripted": model, "other": model}});
    let settings = json!({"autoupdate": false, "share": "disabled", "model": "scripted/scripted",
        "small_model": "scripted/scripted", "enabled_providers": ["scripted"], "provider": {"scripted": provider}});
    let path = scene.settings("opencode.json", &settings.to_string());
    vec![
        ("OPENCODE_CONFIG", path.display().to_string()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
    ]
}

tests!(OPENCODE: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_server_that_fails_and_limits_for_a_moment_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_begins_afresh,
    a_limit_that_lasts_is_waited_for, an_agent_that_only_repeats_requests_is_stopped);
