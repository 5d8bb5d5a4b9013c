//! Qwen Code.
use serde_json::json;

use super::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage, tests};
use crate::real::in_session::{Host, sessions, shared_sessions, words};
use crate::real::work_permission::{CommitAccess, WorkPermission, work_permission_tests};

const QWEN: AgentSpec = AgentSpec {
    name: "qwen",
    set: AgentSet::Extra,
    program: "@qwen-code/qwen-code/cli-entry.js",
    configure,
    sessions: SessionStorage::Folder(".qwen/projects"),
    edit_permission: EditPermission::Default,
};

/// By default, it asks the model after each turn what to remember, in a separate conversation with its own tools.
pub(super) fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    let settings = json!({"memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
        "privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false}, "ui": {"enableFollowupSuggestions": false}});
    fixture.settings(".qwen/settings.json", &settings.to_string());
    vec![
        ("OPENAI_API_KEY", "scripted-key".to_owned()),
        ("OPENAI_BASE_URL", format!("{}/v1", fixture.server.url())),
        ("OPENAI_MODEL", "scripted".to_owned()),
    ]
}

tests!(QWEN: a_false_claim_is_rejected_and_real_work_is_verified, an_invalid_key_is_reported,
    temporary_server_failures_and_rate_limits_are_survived, a_promise_in_a_broken_answer_is_not_a_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_is_replaced_by_a_new_one,
    an_agent_that_only_retries_requests_is_stopped);

const SESSION: Host = Host {
    real: &QWEN,
    mark: '/',
    begin: |id| words(&["-o", "stream-json", "-y", "--session-id", id]),
    resume: |id| words(&["-o", "stream-json", "-y", "--resume", id]),
    id: None,
    trust: |_| (),
};

sessions!(SESSION);
shared_sessions!(SESSION);

const WORK: WorkPermission =
    WorkPermission { agent: &QWEN, forbidden: "curl http://example.invalid", commits: CommitAccess::Agent };

work_permission_tests!(WORK);
