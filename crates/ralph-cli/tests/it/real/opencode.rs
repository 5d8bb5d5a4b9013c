//! OpenCode.
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::fixture::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage};
use super::in_session::{GREET, greeted, greeting, status, words};
use super::server::WAIT_TIMEOUT;
use super::tests;
use super::work_permission::{CommitAccess, WorkPermission, work_permission_tests};
use crate::harness::{Running, wait_until_within};

const OPENCODE: AgentSpec = AgentSpec {
    name: "opencode",
    set: AgentSet::Standard,
    program: "opencode-{platform}/bin/opencode",
    configure,
    sessions: SessionStorage::Folder(".local/share/opencode"),
    edit_permission: EditPermission::Default,
};

pub(super) fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    let model = json!({"name": "Scripted", "limit": {"context": 128_000, "output": 8_192},
        "cost": {"input": 1, "output": 2, "cache_read": 0.1}});
    let options = json!({"baseURL": format!("{}/v1", fixture.server.url()), "apiKey": "scripted-key"});
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "options": options,
        "models": {"scripted": model, "other": model}});
    let settings = json!({"autoupdate": false, "share": "disabled", "model": "scripted/scripted",
        "small_model": "scripted/scripted", "enabled_providers": ["scripted"], "provider": {"scripted": provider}});
    let path = fixture.settings("opencode.json", &settings.to_string());
    vec![
        ("OPENCODE_CONFIG", path.display().to_string()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
    ]
}

tests!(OPENCODE: a_false_claim_is_rejected_and_real_work_is_verified, an_invalid_key_is_reported,
    temporary_server_failures_and_rate_limits_are_survived, a_promise_in_a_broken_answer_is_not_a_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_is_replaced_by_a_new_one,
    a_long_rate_limit_is_waited_for, an_agent_that_only_retries_requests_is_stopped);

/// Its plugin works where the program continues after a turn, and a home without a registry must not hold it up.
fn serve(fixture: &Fixture) -> (Running<'_>, String) {
    let call = fixture.session(&words(&["serve", "--port", "0"]));
    let call = call.env("npm_config_registry", fixture.server.url()).env("npm_config_fetch_retries", "0");
    let running = call.start();
    let mut url = None;
    wait_until_within(WAIT_TIMEOUT, "it serves", || {
        let message = running.stdout_so_far();
        url = message.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")).map(str::to_owned);
        url.is_some()
    });
    (running, url.unwrap())
}

/// Runs a command in a session of the server, and returns what OpenCode printed. If nothing follows the command, OpenCode
/// sometimes prints nothing.
fn run_command(fixture: &Fixture, url: &str, args: &[&str], words_behind: &str) -> String {
    let args = [&["run", "--attach", url, "--format", "json", "--command"][..], args].concat();
    fixture.session(&words(&args)).input(words_behind).start().wait_without_invariants().expect(0).stdout
}

/// Starts a loop in a new session of the server, and returns the session's id.
fn start_loop(fixture: &Fixture, url: &str, prompt: &str) -> String {
    let printed = run_command(fixture, url, &["ralph"], prompt);
    let event: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    event["sessionID"].as_str().unwrap().to_owned()
}

/// Records the messages that OpenCode shows.
fn witness(fixture: &Fixture) -> PathBuf {
    let toasts = fixture.project.outside("toasts");
    let plugin = format!(
        "import {{ appendFileSync }} from \"node:fs\"\n\
         export const Witness = async () => ({{ event: async ({{ event }}) => {{\n\
         if (event.type === \"tui.toast.show\") appendFileSync({:?}, JSON.stringify(event.properties) + \"\\n\")\n}} }})\n",
        toasts.display().to_string()
    );
    fixture.settings(".config/opencode/plugin/witness.js", &plugin);
    toasts
}

fn shown(toasts: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(toasts).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

// spec: A10, H1, H2, H5, H7
#[test]
fn a_false_claim_ends_no_session_and_the_work_is_verified() {
    let fixture = Fixture::new(&OPENCODE, greeting);
    fixture.ralph(&["install", "opencode"]).output().expect(0);
    let toasts = witness(&fixture);
    let (server, url) = serve(&fixture);
    let id = start_loop(&fixture, &url, GREET);
    wait_until_within(WAIT_TIMEOUT, "the loop is over", || status(&fixture, &id)["status"] != "active");
    greeted(&fixture, &id);
    wait_until_within(WAIT_TIMEOUT, "the end is shown", || shown(&toasts).len() >= 3);
    let toast = |title: &str, message: &str, (variant, duration): (&str, u32)| json!({"title": title, "message": message, "variant": variant, "duration": duration});
    let expected = [
        toast(
            "Ralph Loop Started",
            "Max 4 iterations. Complete with <promise>DONE</promise>, checked by `grep hello greeting.txt`",
            ("info", 3000),
        ),
        toast("Ralph Loop", "Iteration 2/4", ("info", 2000)),
        toast(
            "Ralph Loop Complete!",
            "Task completed after 2 iteration(s): 1 check passed (proven: `grep hello greeting.txt` failed before the work and passes now)",
            ("success", 5000),
        ),
    ];
    assert_eq!(shown(&toasts), expected);
    drop(server);
}

// spec: A10, H2, H3, H4
// fault: 112
#[test]
fn a_loop_is_cancelled_in_its_session_and_that_of_another_session_continues() {
    let fixture = Fixture::new(&OPENCODE, |_| json!([{"say": "Still at it."}]));
    fixture.ralph(&["install", "opencode"]).output().expect(0);
    let start = ["loop", "start", "--session", "another-session", "--host", "opencode", "--prompt", "x"];
    fixture.ralph(&start).output().expect(0);
    let (server, url) = serve(&fixture);
    let id = start_loop(&fixture, &url, "Work on.");
    fixture.server.wait_for(3);
    run_command(&fixture, &url, &["cancel-ralph", "--session", &id], "");
    assert_eq!(status(&fixture, &id)["status"], "cancelled");
    let other = status(&fixture, "another-session");
    assert_eq!((&other["status"], &other["iteration"]), (&json!("active"), &json!(1)), "{other}");
    drop(server);
}

const WORK: WorkPermission =
    WorkPermission { agent: &OPENCODE, forbidden: "curl http://example.invalid", commits: CommitAccess::Agent };

work_permission_tests!(WORK);
