//! Cline.
use serde_json::json;

use super::{Real, Scene, Set, tests};

const CLINE: Real = Real {
    name: "cline",
    set: Set::More,
    program: "cline/bin/cline",
    settle,
    args: &["--permission", "full"],
};

/// What `cline auth` would write.
fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    let provider = json!({"provider": "openai-compatible", "apiKey": "scripted-key", "model": "scripted",
        "baseUrl": format!("{}/v1", scene.server.url())});
    let settings = json!({"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers":
        {"openai-compatible": {"settings": provider, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}});
    scene.settings(".cline/data/settings/providers.json", &settings.to_string());
    Vec::new()
}

tests!(CLINE: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_limit_of_a_moment_is_survived, a_server_that_fails_once_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    ctrl_c_mid_stream_leaves_no_process);
