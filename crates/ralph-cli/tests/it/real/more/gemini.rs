//! Gemini CLI.
use serde_json::json;

use super::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage, tests};
use crate::real::in_session::{Host, sessions, shared_sessions, words};
use crate::real::work_permission::{CommitAccess, WorkPermission, work_permission_tests};

const GEMINI: AgentSpec = AgentSpec {
    name: "gemini",
    set: AgentSet::Extra,
    program: "@google/gemini-cli/bundle/gemini.js",
    configure,
    sessions: SessionStorage::Folder(".gemini/tmp"),
    edit_permission: EditPermission::Default,
};

pub(super) fn configure(fixture: &Fixture) -> Vec<(&'static str, String)> {
    let settings = json!({"general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "security": {"auth": {"selectedType": "gemini-api-key"}}});
    fixture.settings(".gemini/settings.json", &settings.to_string());
    vec![("GEMINI_API_KEY", "scripted-key".to_owned()), ("GOOGLE_GEMINI_BASE_URL", fixture.server.url())]
}

tests!(GEMINI: a_false_claim_is_rejected_and_real_work_is_verified, an_invalid_key_is_reported,
    temporary_server_failures_and_rate_limits_are_survived, a_promise_in_a_broken_answer_is_not_a_claim,
    ctrl_c_mid_stream_leaves_no_process,
    ctrl_c_while_a_command_runs_ends_the_command_too,  a_lost_session_is_replaced_by_a_new_one, a_daily_limit_is_waited_for,
    an_agent_that_only_retries_requests_is_stopped);

const SESSION: Host = Host {
    real: &GEMINI,
    mark: '/',
    begin: |id| words(&["-o", "stream-json", "-y", "-m", "gemini-2.5-pro", "--skip-trust", "--session-id", id]),
    resume: |id| words(&["-o", "stream-json", "-y", "-m", "gemini-2.5-pro", "--skip-trust", "--resume", id]),
    id: None,
    trust: |fixture| {
        let folders = json!({ fixture.project.root().display().to_string(): "TRUST_FOLDER" });
        fixture.settings(".gemini/trustedFolders.json", &folders.to_string());
    },
};

sessions!(SESSION);
shared_sessions!(SESSION);

const WORK: WorkPermission =
    WorkPermission { agent: &GEMINI, forbidden: "curl http://example.invalid", commits: CommitAccess::Agent };

work_permission_tests!(WORK);
