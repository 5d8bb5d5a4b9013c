//! GitHub Copilot CLI, with a provider of our own.
use super::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage, tests};
use serde_json::json;

use crate::real::in_session::{Host, sessions, shared_sessions, words};
use crate::real::work_permission::{CommitAccess, WorkPermission, work_permission_tests};

const COPILOT: AgentSpec = AgentSpec {
    name: "copilot",
    set: AgentSet::Extra,
    program: "@github/copilot/npm-loader.js",
    configure,
    sessions: SessionStorage::Folder(".copilot/session-state"),
    edit_permission: EditPermission::Default,
};

pub(super) fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    vec![
        ("COPILOT_OFFLINE", "true".to_owned()),
        ("COPILOT_PROVIDER_BASE_URL", format!("{}/v1", fixture.server.url())),
        ("COPILOT_PROVIDER_API_KEY", "scripted-key".to_owned()),
        ("COPILOT_MODEL", "scripted".to_owned()),
    ]
}

tests!(COPILOT: a_false_claim_is_rejected_and_real_work_is_verified, an_invalid_key_is_reported,
    temporary_server_failures_and_rate_limits_are_survived, a_promise_in_a_broken_answer_is_not_a_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_is_replaced_by_a_new_one, a_long_rate_limit_is_waited_for,
    an_agent_that_only_retries_requests_is_stopped);

const SESSION: Host = Host {
    real: &COPILOT,
    mark: '/',
    begin: |id| words(&["--output-format", "json", "--yolo", "--no-ask-user", "--session-id", id]),
    resume: |id| words(&["--output-format", "json", "--yolo", "--no-ask-user", &format!("--resume={id}")]),
    id: None,
    trust: |fixture| {
        let folders = json!({ "trusted_folders": [fixture.project.root()] });
        fixture.settings(".copilot/config.json", &folders.to_string());
    },
};

sessions!(SESSION);
shared_sessions!(SESSION);

const WORK: WorkPermission =
    WorkPermission { agent: &COPILOT, forbidden: "curl http://example.invalid", commits: CommitAccess::Agent };

work_permission_tests!(WORK);
