//! goose.
use super::{Needs, Real, Scene, Sessions, Set, tests};

const GOOSE: Real = Real {
    name: "goose",
    set: Set::More,
    program: "@aaif/goose-binary-{platform}/bin/goose",
    settle,
    sessions: Sessions::In(".local/share/goose"),
    needs: Needs::Everything,
};

pub(super) fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    vec![
        ("GOOSE_PROVIDER", "openai".to_owned()),
        ("GOOSE_MODEL", "scripted".to_owned()),
        ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
        ("GOOSE_TELEMETRY_ENABLED", "false".to_owned()),
        ("OPENAI_HOST", scene.server.url()),
        ("OPENAI_API_KEY", "scripted-key".to_owned()),
    ]
}

tests!(GOOSE: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_server_that_fails_and_limits_for_a_moment_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_begins_afresh, a_limit_that_lasts_is_waited_for,
    an_agent_that_repeats_without_a_word_is_ended_by_its_silence);
