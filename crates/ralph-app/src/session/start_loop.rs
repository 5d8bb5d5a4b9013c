//! Starts a loop in a session.
use std::path::Path;
use std::time::Instant;

use ralph_core::claim::Promise;
use ralph_core::criterion::{Criterion, external_checks};
use ralph_core::policy::{BaselineMode, ClaimVerification, Policy};
use ralph_core::session_loop::{SessionLoopPlan, SessionNotice, StartedSessionLoop, start_session_loop};
use ralph_engine::project::Project;
use ralph_engine::session_driver::{
    LoopBaseline, LoopFile, LoopRecord, LoopRecordError, LoopStore, LoopTerms, PreparedLoop, SessionKey,
    TranscriptPosition, create_record_folder, create_record_store, current_moment, expire_orphans, host_display_name,
    logs_folder, new_loop_id, record_new_loop, worktree_state,
};
use ralph_process::Keeper;
use ralph_util::failpoints::{self, FailPoint};

use super::cancel_loop::cancel_loop_in;
use super::{LoopCaller, open_loop_store};
use crate::advice::Advice;
use crate::config::{Settings, SettingsPart, SettingsUse};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::plan::{build_acceptance, ensure_run_criteria};
use crate::run::refuse_recursion;
use crate::state::{StateEvidence, adopt_old_state};
use crate::trust::ensure_use_approved;

/// The loop to start.
pub struct StartLoopRequest<'a> {
    pub session: SessionKey,
    /// The folder in which the session works.
    pub folder: &'a Path,
    /// The project of that folder, as [`find_loop_project`] returns it.
    pub project: Option<Project>,
    /// The settings with those of the request on top.
    pub settings: &'a Settings,
    pub task: String,
    pub promise: Promise,
    pub criteria: Vec<Criterion>,
    /// The name of the loop on screens.
    pub description: Option<String>,
    pub caller: LoopCaller,
    /// The transcript of the session, if it is known. Its present content belongs to earlier turns.
    pub transcript: Option<&'a Path>,
    /// When the checks that run before the work must be finished.
    pub deadline: Instant,
}

/// A loop that was started, and the notices for the user.
#[derive(Debug)]
pub struct StartedLoop {
    pub loop_file: LoopFile,
    pub notices: Vec<SessionNotice>,
}

/// Finds the project of a folder. A loop with checks needs a repository; a loop without checks does not.
pub fn find_loop_project(folder: &Path, criteria: &[Criterion]) -> AppResult<Option<Project>> {
    match Project::find_from(folder) {
        Ok(project) => {
            refuse_recursion(&project)?;
            Ok(Some(project))
        }
        Err(_) if criteria.is_empty() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Starts a loop, in place of the session's current one.
pub fn start_loop(request: StartLoopRequest<'_>, person: &dyn Interaction) -> AppResult<StartedLoop> {
    let settings = request.settings;
    if !settings.session.enabled.value {
        return Err(AppError::preflight("session loops are disabled").with_advice(Advice::EnableSessionLoops));
    }
    if let Some(project) = &request.project {
        let used = SettingsUse {
            agents: Vec::new(),
            permission: SettingsPart::Unused,
            checks: SettingsPart::Unused,
            criteria: &request.criteria,
            templates: &[],
        };
        ensure_use_approved(project, settings, &used, person)?;
    }
    let (key, caller) = (request.session.clone(), request.caller);
    let loop_store = open_loop_store()?;
    let entry = build_loop_file(request, &loop_store)?;
    store_loop(&loop_store, &key, entry, caller)
}

fn build_loop_file(request: StartLoopRequest<'_>, loop_store: &LoopStore) -> AppResult<LoopFile> {
    let StartLoopRequest { session, folder, project, settings, task, promise, criteria, .. } = request;
    // The checks may take long, but the loop starts when the person asks for it.
    let moment = current_moment();
    let transcript_position = request.transcript.and_then(TranscriptPosition::at_end_of);
    if let Some(project) = &project {
        adopt_old_state(project, StateEvidence::Required)?;
    }
    let root = project.map_or_else(|| folder.to_path_buf(), |project| project.root);
    ensure_run_criteria(settings, &criteria)?;
    let acceptance = build_acceptance(settings)?;
    let proof = ClaimVerification::for_run(&criteria, &acceptance.guard);
    let policy = settings.run_policy(settings.session.max_iterations.value, proof);
    let state_folder = create_record_folder(loop_store, &root).map_err(|error| record_error(&error))?;
    let id = new_loop_id();
    let terms = LoopTerms { root: &root, acceptance: &acceptance, criteria: &criteria };
    let start =
        BaselineStart { mode: policy.baseline, id: &id, state_folder: &state_folder, deadline: request.deadline };
    let PreparedLoop { sealing, baseline } = match proof {
        ClaimVerification::Checks => prepare_loop(&terms, &start),
        ClaimVerification::ClaimAlone => PreparedLoop::default(),
    };
    let plan = SessionLoopPlan {
        agent: host_display_name(session.host.as_deref()).to_owned(),
        prompt: task,
        rules: settings.claim_rules(promise),
        criteria,
        policy: Policy { stall_after: settings.classic_stall_limit(), ..policy },
        sealing,
        baseline,
    };
    let StartedSessionLoop { state, facts } = start_session_loop(plan, &moment);
    if let Some(ended) = state.machine.run_end() {
        remove_baseline_logs(&state_folder, &id);
        return Err(AppError::preflight(&ended.reason));
    }
    let delay_ms = u64::try_from(settings.session.continuation_delay.value.as_millis()).unwrap_or(u64::MAX);
    let record = LoopRecord::new(state_folder, state.started, facts);
    let description = request.description;
    let entry = LoopFile {
        id,
        description,
        acceptance,
        delay_ms,
        record,
        transcript_position,
        ..LoopFile::new(&session, root, state)
    };
    Ok(LoopFile { worktree_state: worktree_state(&entry), ..entry })
}

/// The baseline of a loop that is about to start.
struct BaselineStart<'a> {
    mode: BaselineMode,
    /// The id of the loop.
    id: &'a str,
    state_folder: &'a Path,
    deadline: Instant,
}

/// Runs the checks before the work, if the settings ask for it, and seals the files. If the checks cannot run, the loop has
/// no baseline.
fn prepare_loop(terms: &LoopTerms<'_>, start: &BaselineStart<'_>) -> PreparedLoop {
    let is_wanted = start.mode == BaselineMode::Run && !external_checks(terms.criteria).is_empty();
    match is_wanted.then(Keeper::start).and_then(Result::ok) {
        None => PreparedLoop { sealing: Some(terms.seal_files()), baseline: Vec::new() },
        Some(keeper) => {
            let log_folder = logs_folder(start.state_folder, start.id);
            terms.prepare(LoopBaseline { keeper, id: start.id.to_owned(), log_folder, deadline: start.deadline })
        }
    }
}

/// Removes the output of the checks of a loop that does not exist. Errors are ignored: `gc` removes it later.
fn remove_baseline_logs(state_folder: &Path, id: &str) {
    let _ = std::fs::remove_dir_all(logs_folder(state_folder, id));
}

fn record_error(error: &LoopRecordError) -> AppError {
    AppError::from_error(ErrorKind::StateUnusable, error)
}

/// Stores the loop in place of the session's current one. A repeated start of the same loop changes nothing. If the
/// person has not typed the command into the session, the next stop reports a replaced loop.
fn store_loop(
    loop_store: &LoopStore,
    key: &SessionKey,
    mut entry: LoopFile,
    caller: LoopCaller,
) -> AppResult<StartedLoop> {
    expire_orphans(loop_store);
    loop_store.remove_expired();
    let current = loop_store.find_with_key(key).ok().flatten().filter(|(_, old)| old.loop_state.is_active());
    let is_repeated = |old: &LoopFile| old.loop_state.is_duplicated_by(&entry.loop_state);
    let replaced = current.filter(|(other, old)| other != key || !is_repeated(old));
    if let Some((other, old)) = &replaced {
        caller.refuse_agent(old, "replace the loop of a session")?;
        // A session has only one loop, also if the other one is stored under a less specific key.
        cancel_loop_in(loop_store, other)?;
    }
    let replaced = replaced.map(|(_, old)| {
        SessionNotice::loop_replaced(old.loop_state.current_iteration(), old.loop_state.max_iterations())
    });
    if caller == LoopCaller::Command {
        entry.pending_notices.extend(replaced.clone());
    }
    let (state_folder, id) = (entry.record.state_folder.clone(), entry.id.clone());
    if let Some(folder) = &state_folder {
        create_record_store(folder).map_err(|error| record_error(&error))?;
    }
    let entry = loop_store.update_loop(key, |there| match there {
        Some(there) if there.loop_state.is_duplicated_by(&entry.loop_state) => (None, there),
        Some(_) | None => (Some(entry.clone()), entry),
    })?;
    if let Some(folder) = state_folder.filter(|_| entry.id != id) {
        remove_baseline_logs(&folder, &id);
    }
    failpoints::reach_fail_point(FailPoint::LoopFileWritten);
    record_new_loop(&entry).map_err(|error| record_error(&error))?;
    let state = &entry.loop_state;
    let started = SessionNotice::loop_started(state.max_iterations(), state.rules.promise.as_str())
        .with_checks(&state.criteria)
        .with_missing_baseline(&state.checks_without_baseline());
    let notices = replaced.into_iter().chain([started]).collect();
    Ok(StartedLoop { loop_file: entry, notices })
}
