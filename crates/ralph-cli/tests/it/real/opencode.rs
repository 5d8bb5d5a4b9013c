//! OpenCode.
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::in_session::{GREET, greeted, greeting, status, words};
use super::scene::{Needs, Real, Scene, Sessions, Set};
use super::server::PATIENCE;
use super::tests;
use crate::harness::{Running, wait_long};

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

/// Its plugin works where the program goes on after a turn, and a home without a registry must not hold it up.
fn serve(scene: &Scene) -> (Running<'_>, String) {
    let call = scene.session(&words(&["serve", "--port", "0"]));
    let call = call.env("npm_config_registry", scene.server.url()).env("npm_config_fetch_retries", "0");
    let running = call.start();
    let mut url = None;
    wait_long(PATIENCE, "it serves", || {
        let said = running.so_far();
        url = said.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).map(str::to_owned);
        url.is_some()
    });
    (running, url.unwrap())
}

/// Runs a command in a session of the server, and returns the session's id.
fn command(scene: &Scene, url: &str, args: &[&str], words_behind: &str) -> String {
    let args = [&["run", "--attach", url, "--format", "json", "--command"][..], args].concat();
    let answer = scene.session(&words(&args)).input(words_behind).start().wait_without_invariants().expect(0);
    let event: Value = serde_json::from_str(answer.stdout.lines().next().unwrap()).unwrap();
    event["sessionID"].as_str().unwrap().to_owned()
}

/// Writes down what OpenCode shows to people.
fn witness(scene: &Scene) -> PathBuf {
    let toasts = scene.project.outside("toasts");
    let plugin = format!(
        "import {{ appendFileSync }} from \"node:fs\"\n\
         export const Witness = async () => ({{ event: async ({{ event }}) => {{\n\
         if (event.type === \"tui.toast.show\") appendFileSync({:?}, JSON.stringify(event.properties) + \"\\n\")\n}} }})\n",
        toasts.display().to_string()
    );
    scene.settings(".config/opencode/plugin/witness.js", &plugin);
    toasts
}

fn shown(toasts: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(toasts).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

// spec: A10, H1, H2, H5, H7
#[test]
fn a_lie_ends_no_session_and_the_work_is_proven() {
    let scene = Scene::new(&OPENCODE, greeting);
    scene.ralph(&["install", "opencode"]).output().expect(0);
    let toasts = witness(&scene);
    let (server, url) = serve(&scene);
    let id = command(&scene, &url, &["ralph"], GREET);
    wait_long(PATIENCE, "the loop is over", || status(&scene, &id)["status"] != "active");
    greeted(&scene, &id);
    wait_long(PATIENCE, "the end is shown", || shown(&toasts).len() >= 3);
    let toast = |title: &str, message: &str, (variant, duration): (&str, u32)| json!({"title": title, "message": message, "variant": variant, "duration": duration});
    let expected = [
        toast(
            "Ralph Loop Started",
            "Max 4 iterations. Complete with <promise>DONE</promise>, checked by `grep hello greeting.txt`",
            ("info", 3000),
        ),
        toast("Ralph Loop", "Iteration 2/4", ("info", 2000)),
        toast("Ralph Loop Complete!", "Task completed after 2 iteration(s)", ("success", 5000)),
    ];
    assert_eq!(shown(&toasts), expected);
    drop(server);
}

// spec: A10, H2, H3, H4
// fault: 112
#[test]
fn a_loop_is_cancelled_in_its_session_and_that_of_another_session_goes_on() {
    let scene = Scene::new(&OPENCODE, |_| json!([{"say": "Still at it."}]));
    scene.ralph(&["install", "opencode"]).output().expect(0);
    let start = ["loop", "start", "--session", "another-session", "--host", "opencode", "--prompt", "x"];
    scene.ralph(&start).output().expect(0);
    let (server, url) = serve(&scene);
    let id = command(&scene, &url, &["ralph"], "Work on.");
    scene.server.wait_for(3);
    command(&scene, &url, &["cancel-ralph", "--session", &id], "");
    assert_eq!(status(&scene, &id)["status"], "cancelled");
    let other = status(&scene, "another-session");
    assert_eq!((&other["status"], &other["iteration"]), (&json!("active"), &json!(1)), "{other}");
    drop(server);
}
