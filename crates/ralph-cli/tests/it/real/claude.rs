//! Claude Code.
use std::process::Command;

use serde_json::{Value, json};

use super::fixture::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage};
use super::in_session::{GREET, Host, greeted, greeting, sessions, words};
use super::{overnight, scenarios, tests};

pub(super) const CLAUDE: AgentSpec = AgentSpec {
    name: "claude",
    set: AgentSet::Standard,
    program: "@anthropic-ai/claude-code-{platform}/claude",
    configure,
    sessions: SessionStorage::Folder(".claude/projects"),
    edit_permission: EditPermission::Default,
};

/// Without the four switches it looks for its vendor's hosts.
fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    let on = || "1".to_owned();
    vec![
        ("ANTHROPIC_BASE_URL", fixture.server.url()),
        ("ANTHROPIC_API_KEY", "scripted-key".to_owned()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", on()),
        ("DISABLE_AUTOUPDATER", on()),
        ("DISABLE_TELEMETRY", on()),
        ("DISABLE_ERROR_REPORTING", on()),
        ("CLAUDE_CODE_MAX_RETRIES", "2".to_owned()),
    ]
}

tests!(CLAUDE: a_false_claim_is_rejected_and_real_work_is_verified, an_invalid_key_is_reported,
    temporary_server_failures_and_rate_limits_are_survived, a_promise_in_a_broken_answer_is_not_a_claim,
    an_agent_whose_model_is_silent_is_stopped, ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_is_replaced_by_a_new_one, a_long_rate_limit_is_waited_for,
    a_judge_without_tools_finds_the_false_claim_and_the_work, generated_tasks_are_imported_and_wait_for_approval);

// spec: A10, P1, P3, P4, L11
// finding: N14, N15, N16
#[test]
fn a_night_with_a_rejection_a_pause_and_a_killed_worker_ends_landed() {
    overnight::a_night_with_a_rejection_a_pause_and_a_killed_worker_ends_landed(&CLAUDE);
}

/// The default: it retries ten times, which takes minutes.
const PATIENT: AgentSpec = AgentSpec {
    configure: |fixture| {
        configure(fixture).into_iter().filter(|(name, _)| *name != "CLAUDE_CODE_MAX_RETRIES").collect()
    },
    ..CLAUDE
};

#[test]
fn an_agent_that_only_retries_requests_is_stopped() {
    scenarios::an_agent_that_only_retries_requests_is_stopped(&PATIENT);
}

/// It would retry the rejected key ten times.
// finding: N72
// spec: A10, L5
#[test]
fn a_wrong_key_ends_the_run_before_claude_has_used_up_its_retries() {
    let fixture = Fixture::new(&PATIENT, |_| json!(vec![json!({"refuse": {"status": 401}}); 11]));
    let answer = fixture.run("Do the work.").output().expect(4);
    let reason = answer.finished()["reason"].to_string();
    assert!(reason.contains("the provider rejected the agent's login: authentication_failed, retry"), "{reason}");
    assert!(reason.contains("hint: run `claude` once and log in"), "{reason}");
    assert_eq!(answer.events_named("attempt.ended").len(), 1, "no retry helps: {}", answer.stdout);
    assert!(fixture.server.asked().len() < 11, "{}", fixture.server.asked().len());
}

/// A subscription reports the end of the limit, and the run waits until that second.
// spec: A10, L6
#[test]
fn a_used_up_plan_makes_the_run_wait_until_its_reset() {
    let soon = jiff::Timestamp::now().as_second() + 20;
    let refused = json!({"refuse": {"status": 429, "resets_at": soon}});
    let fixture = Fixture::new(&CLAUDE, |_| json!([refused, {"say": "All is done. <promise>DONE</promise>"}]));
    let as_subscriber = |command: &mut Command| {
        command.env_remove("ANTHROPIC_API_KEY").env("CLAUDE_CODE_OAUTH_TOKEN", "scripted-token");
    };
    let answer = fixture.run("Do the work.").with(as_subscriber).output().expect(0);
    assert_eq!(answer.events_named("limit.waiting")[0]["reset_at"], soon, "{}", answer.stdout);
    assert_eq!(answer.finished()["iterations"], 1);
    assert!(jiff::Timestamp::now().as_second() >= soon);
}

const SESSION: Host = Host {
    real: &CLAUDE,
    mark: '/',
    begin: |id| words(&["-p", "--dangerously-skip-permissions", "--session-id", id]),
    resume: |id| words(&["-p", "--dangerously-skip-permissions", "--resume", id]),
    id: None,
    trust: |_| (),
};

sessions!(SESSION);

// spec: A10, H2
#[test]
fn the_plugin_is_valid_and_runs_a_loop_in_a_session() {
    let fixture = Fixture::new(&CLAUDE, greeting);
    let plugin = fixture.project.outside("plugin").display().to_string();
    fixture.ralph(&["install", "claude", "--plugin", &plugin]).output().expect(0);
    let call = |args: &[&str], prompt: String| {
        fixture.session(&words(args)).input(prompt).start().wait_without_invariants().expect(0)
    };
    call(&["plugin", "validate", &plugin], String::new());
    let id = uuid::Uuid::new_v4().to_string();
    let args = ["-p", "--dangerously-skip-permissions", "--plugin-dir", &plugin, "--session-id", &id];
    call(&args, format!("/ralph:ralph {GREET}"));
    greeted(&fixture, &id);
}

/// The agent of the session creates tasks from a spec, and their commands wait for approval.
// spec: A10, T8
#[test]
fn tasks_created_in_a_session_wait_for_approval() {
    let own = env!("CARGO_BIN_EXE_ralph");
    let tasks = "- id: greet-1\n  title: Greet\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n    \
        coder: {verification_config: {command: make}}\n";
    let fixture = Fixture::new(&CLAUDE, |project| {
        let file = project.root().join("ralph-tasks.yaml");
        json!([{"write": {"path": file, "content": tasks}}, {"run": format!("'{own}' task import --by-agent ralph-tasks.yaml")},
            {"say": "There is one task."}])
    });
    fixture.ralph(&["install", "claude"]).output().expect(0);
    fixture.project.write("greet.md", "# Greet\n\nSay hello.\n");
    let args = words(&["-p", "--dangerously-skip-permissions"]);
    fixture.session(&args).input("/ralph-tasks greet.md").start().wait_without_invariants().expect(0);
    let asked = fixture.server.asked()[0].to_string();
    assert!(asked.contains("For EACH task you MUST write") && asked.contains("greet.md"), "{asked}");
    let listed: Value = fixture.ralph(&["task", "list", "--json"]).output().expect(0).json();
    assert_eq!((&listed[0]["id"], &listed[0]["approved"]), (&json!("greet-1"), &json!(false)), "{listed}");
}
