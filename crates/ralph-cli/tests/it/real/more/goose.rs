//! goose.
use super::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage, tests};

const GOOSE: AgentSpec = AgentSpec {
    name: "goose",
    set: AgentSet::Extra,
    program: "@aaif/goose-binary-{platform}/bin/goose",
    configure,
    sessions: SessionStorage::Folder(".local/share/goose"),
    edit_permission: EditPermission::Full,
};

pub(super) fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    vec![
        ("GOOSE_PROVIDER", "openai".to_owned()),
        ("GOOSE_MODEL", "scripted".to_owned()),
        ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
        ("GOOSE_TELEMETRY_ENABLED", "false".to_owned()),
        ("OPENAI_HOST", fixture.server.url()),
        ("OPENAI_API_KEY", "scripted-key".to_owned()),
    ]
}

tests!(GOOSE: a_false_claim_is_rejected_and_real_work_is_verified, an_invalid_key_is_reported,
    temporary_server_failures_and_rate_limits_are_survived, a_promise_in_a_broken_answer_is_not_a_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_is_replaced_by_a_new_one, a_long_rate_limit_is_waited_for,
    an_agent_that_retries_without_output_is_ended_by_the_silence_timeout);
