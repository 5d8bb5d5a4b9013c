//! Claude Code.
use super::scene::{Real, Scene, Set};
use super::tests;

const CLAUDE: Real = Real {
    name: "claude",
    set: Set::Usual,
    program: "@anthropic-ai/claude-code-{platform}/claude",
    settle,
    args: &[],
};

/// Without the four switches it looks for its vendor's hosts.
fn settle(scene: &Scene) -> Vec<(&'static str, String)> {
    let on = || "1".to_owned();
    vec![
        ("ANTHROPIC_BASE_URL", scene.server.url()),
        ("ANTHROPIC_API_KEY", "scripted-key".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("DISABLE_AUTOUPDATER", on()),
        ("DISABLE_TELEMETRY", on()),
        ("DISABLE_ERROR_REPORTING", on()),
        ("CLAUDE_CODE_MAX_RETRIES", on()),
    ]
}

tests!(CLAUDE: a_lie_is_rejected_and_real_work_is_proven, an_invalid_key_is_reported,
    a_limit_of_a_moment_is_survived, a_server_that_fails_once_is_survived, a_promise_in_a_broken_answer_is_no_claim,
    an_agent_whose_model_is_silent_is_stopped, ctrl_c_mid_stream_leaves_no_process);
