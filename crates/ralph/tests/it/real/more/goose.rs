//! goose.
use super::{Real, Scene, Set, tests};

const GOOSE: Real = Real {
    name: "goose",
    set: Set::More,
    program: "@aaif/goose-binary-{platform}/bin/goose",
    settle,
    args: &["--permission", "full"],
};

fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
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
    a_limit_of_a_moment_is_survived, a_server_that_fails_once_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    ctrl_c_mid_stream_leaves_no_process);
