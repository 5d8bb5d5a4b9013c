//! Cline.
use serde_json::json;

use super::{Needs, Real, Scene, Sessions, Set, tests};

const CLINE: Real = Real {
    name: "cline",
    set: Set::More,
    program: "cline/bin/cline",
    settle,
    sessions: Sessions::None,
    needs: Needs::Everything,
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
    a_server_that_fails_and_limits_for_a_moment_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too, a_limit_that_lasts_is_waited_for,
    an_agent_that_repeats_without_a_word_is_ended_by_its_silence);
