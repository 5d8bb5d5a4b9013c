//! Codex.
use serde_json::{Value, json};

use super::fixture::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage};
use super::in_session::{GREET, Host, greeting, sessions, shared_sessions, words};
use super::scenarios::DONE;
use super::work_permission::{CommitAccess, WorkPermission, work_permission_tests};
use super::{overnight, tests};
use crate::harness::CallOutput;

/// `codex` is a script that starts the native program, as people have it.
pub(super) const CODEX: AgentSpec = AgentSpec {
    name: "codex",
    set: AgentSet::Standard,
    program: "@openai/codex/bin/codex.js",
    configure,
    sessions: SessionStorage::Folder(".codex/sessions"),
    edit_permission: EditPermission::Default,
};

/// Without the switches it asks for updates, plugins and analytics, and waits for them at its end.
pub(super) fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    let settings = format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{}/v1"
wire_api = "responses"
env_key = "SCRIPTED_API_KEY"
request_max_retries = 2
stream_max_retries = 1
supports_websockets = false

[analytics]
enabled = false

[features]
plugins = false
"#,
        fixture.server.url()
    );
    fixture.settings(".codex/config.toml", &settings);
    vec![("SCRIPTED_API_KEY", "scripted-key".to_owned())]
}

tests!(CODEX: a_false_claim_is_rejected_and_real_work_is_verified, an_invalid_key_is_reported,
    temporary_server_failures_and_rate_limits_are_survived, a_promise_in_a_broken_answer_is_not_a_claim,
    an_agent_whose_model_is_silent_is_stopped, ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_is_replaced_by_a_new_one, a_long_rate_limit_is_waited_for,
    a_judge_without_tools_finds_the_false_claim_and_the_work);

// spec: A10, P1, P3, P4, L11
// finding: N14, N15, N16
#[test]
fn a_night_with_a_rejection_a_pause_and_a_killed_worker_ends_landed() {
    overnight::a_night_with_a_rejection_a_pause_and_a_killed_worker_ends_landed(&CODEX);
}

/// The server asks it to retry in ten minutes, and it is silent meanwhile: a rate limit, not a timeout.
// spec: A10, L6, L7
#[test]
fn a_rate_limited_agent_that_stays_silent_is_stopped_and_the_run_waits() {
    let fixture = Fixture::new(
        &CODEX,
        |project| json!([{"refuse": {"status": 429, "retry_after": 600, "until": project.outside("open")}}, {"say": DONE}]),
    );
    // An agent that is stopped before its first request only uses an iteration.
    let limits = ["--idle-timeout", "20s", "--max-rate-limit-wait", "10s", "--max-retries", "0"];
    let running = fixture.run("Do the work.").args(limits).start();
    let waited = running.wait_for_event("limit.waiting");
    std::fs::write(fixture.project.outside("open"), "").unwrap();
    let answer = running.wait().expect(0);
    assert_eq!(answer.events_named("stop.requested")[0]["reason"], "the agent was silent for too long");
    assert_eq!(answer.finished()["iterations"], waited["iteration"], "the wait counts as none");
}

/// Without a terminal, Codex cannot ask whether the hooks are trusted.
const TRUSTING: &[&str] =
    &["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"];

const SESSION: Host = Host {
    real: &CODEX,
    mark: '$',
    begin: |_| words(&[TRUSTING, &["-"]].concat()),
    resume: |id| words(&[TRUSTING, &["resume", id, "-"]].concat()),
    id: Some(thread),
    trust: |fixture| {
        let path = fixture.project.home().join(".codex/config.toml");
        let settings = std::fs::read_to_string(&path).unwrap();
        let root = fixture.project.root();
        let trusted = format!("{settings}\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n", root.display());
        std::fs::write(&path, trusted).unwrap();
    },
};

sessions!(SESSION);
shared_sessions!(SESSION);

fn thread(answer: &CallOutput) -> String {
    let first: Value = serde_json::from_str(answer.stdout.lines().next().unwrap()).unwrap();
    first["thread_id"].as_str().unwrap().to_owned()
}

// spec: A10, H2
#[test]
fn codex_does_not_run_untrusted_hooks() {
    let fixture = Fixture::new(&CODEX, greeting);
    fixture.ralph(&["install", "codex"]).output().expect(0);
    let args = words(&["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "-"]);
    fixture.session(&args).input(format!("$ralph {GREET}")).start().wait_without_invariants().expect(0);
    assert_eq!(fixture.server.asked().len(), 1);
    assert_eq!(fixture.ralph(&["loop", "status", "--json"]).output().expect(0).json(), json!([]));
}

const WORK: WorkPermission =
    WorkPermission { agent: &CODEX, forbidden: "rm -rf forbidden", commits: CommitAccess::Ralph };

work_permission_tests!(WORK);
