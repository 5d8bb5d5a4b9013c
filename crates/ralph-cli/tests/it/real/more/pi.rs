//! pi.
use super::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage, tests};

const PI: AgentSpec = AgentSpec {
    name: "pi",
    set: AgentSet::Extra,
    program: "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
    configure,
    sessions: SessionStorage::Folder(".pi/agent/sessions"),
    edit_permission: EditPermission::Default,
};

/// Without the switch it asks for newer model lists and versions.
fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    let models = format!(
        r#"{{"providers":{{"scripted":{{"baseUrl":"{}/v1","api":"openai-completions","apiKey":"$SCRIPTED_API_KEY",
"models":[{{"id":"scripted"}}]}}}}}}"#,
        fixture.server.url()
    );
    fixture.settings(".pi/agent/models.json", &models);
    fixture.settings(
        ".pi/agent/settings.json",
        r#"{"defaultProvider":"scripted","defaultModel":"scripted","retry":{"maxRetries":2,"baseDelayMs":10}}"#,
    );
    vec![("SCRIPTED_API_KEY", "scripted-key".to_owned()), ("PI_OFFLINE", "1".to_owned())]
}

// finding: N75
tests!(PI: a_false_claim_is_rejected_and_real_work_is_verified, an_invalid_key_is_reported,
    temporary_server_failures_and_rate_limits_are_survived, a_promise_in_a_broken_answer_is_not_a_claim,
    ctrl_c_mid_stream_leaves_no_process, ctrl_c_while_a_command_runs_ends_the_command_too,
    a_lost_session_is_replaced_by_a_new_one);
