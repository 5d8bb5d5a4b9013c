//! Cline.
use serde_json::json;

use super::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage, tests};

const CLINE: AgentSpec = AgentSpec {
    name: "cline",
    set: AgentSet::Extra,
    program: "cline/bin/cline",
    configure,
    sessions: SessionStorage::None,
    edit_permission: EditPermission::Full,
};

/// The settings that `cline auth` would write.
fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    let provider = json!({"provider": "openai-compatible", "apiKey": "scripted-key", "model": "scripted",
        "baseUrl": format!("{}/v1", fixture.server.url())});
    let settings = json!({"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers":
        {"openai-compatible": {"settings": provider, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}});
    fixture.settings(".cline/data/settings/providers.json", &settings.to_string());
    Vec::new()
}

tests!(CLINE: a_false_claim_is_rejected_and_real_work_is_verified, an_invalid_key_is_reported,
    temporary_server_failures_and_rate_limits_are_survived, a_promise_in_a_broken_answer_is_not_a_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too, a_long_rate_limit_is_waited_for,
    an_agent_that_retries_without_output_is_ended_by_the_silence_timeout);
