//! Codex.
use super::scene::{Real, Scene, Set};
use super::tests;

/// `codex` is a script that starts the native program, as people have it.
const CODEX: Real =
    Real { name: "codex", set: Set::Usual, program: "@openai/codex/bin/codex.js", settle, args: &[] };

/// Without the switches it asks for updates, plugins and analytics, and waits for them at its end.
fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    let settings = format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false

[analytics]
enabled = false

[features]
plugins = false
"#,
        scene.server.url()
    );
    scene.settings(".codex/config.toml", &settings);
    vec![("SCRIPTED_API_KEY", "scripted-key".to_owned())]
}

tests!(CODEX: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_limit_of_a_moment_is_survived, a_server_that_fails_once_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    an_agent_whose_model_is_silent_is_stopped, ctrl_c_mid_stream_leaves_no_process);
