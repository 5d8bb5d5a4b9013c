//! `ralph loop start`: starts a loop in a session; also used by slash commands.
use std::path::{Path, PathBuf};

use ralph_core::outcome::exit_code;
use ralph_core::policy::{Policy, ProofRequirement};
use ralph_core::seal::SealingResult;
use ralph_core::session_loop::{SessionLoopPlan, SessionNotice, start_session_loop};
use serde_json::json;

use super::open_loop_store;
use super::start_args::{LoopStartArgs, parse_promise};
use crate::commands::{out, trust};
use crate::error::CommandError;
use ralph_app::config::{Settings, SettingsPart, SettingsUse};
use ralph_app::plan::{build_acceptance, ensure_run_criteria};
use ralph_app::run::refuse_recursion;
use ralph_engine::project::Project;
use ralph_engine::session_driver::{
    LoopFile, LoopStore, SessionKey, build_sealer, current_moment, expire_orphans, worktree_state,
};

pub fn run(args: &LoopStartArgs) -> Result<u8, CommandError> {
    let stdin_args = args.read_stdin_arguments()?;
    let args = stdin_args.as_ref().unwrap_or(args);
    let folder =
        std::env::current_dir().map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))?;
    let started = start_loop(args, &folder)?;
    if args.json {
        out::print_line(&started.to_json().to_string());
    } else {
        started.notices.iter().for_each(|notice| out::print_message(&notice.to_line()));
        out::print_message(&format!("\n{}", started.loop_file.loop_state.first_prompt()));
    }
    Ok(exit_code::COMPLETED)
}

/// A loop that was started, and the notices for the user.
pub struct StartedLoop {
    pub loop_file: LoopFile,
    pub notices: Vec<SessionNotice>,
}

impl StartedLoop {
    fn to_json(&self) -> serde_json::Value {
        let mut object = self.loop_file.to_json();
        object["notices"] = json!(self.notices);
        object["first_prompt"] = self.loop_file.loop_state.first_prompt().into();
        object
    }
}

/// Starts a loop for a session that works in this folder.
pub fn start_loop(args: &LoopStartArgs, folder: &Path) -> Result<StartedLoop, CommandError> {
    let key = args.session.require_session_key()?;
    let project = find_project(args, folder)?;
    let mut settings = args.config.load_settings(project.as_ref())?;
    args.apply(&mut settings);
    if !settings.session.enabled.value {
        return Err(CommandError::preflight_error("session loops are disabled")
            .with_hint("set session.enabled to true in the configuration; `ralph config show` shows where it is set"));
    }
    if let Some(project) = &project {
        let criteria = args.parse_criteria()?;
        let used = SettingsUse {
            agents: Vec::new(),
            permission: SettingsPart::Unused,
            checks: SettingsPart::Unused,
            criteria: &criteria,
            templates: &[],
        };
        trust::ensure_use_approved(project, &settings, &used)?;
    }
    let root = project.map_or_else(|| folder.to_path_buf(), |project| project.root);
    let entry = build_loop_file(args, &settings, &key, root)?;
    store_loop(&open_loop_store()?, &key, entry)
}

/// Finds the project. A loop with checks needs a repository; a loop without checks does not.
fn find_project(args: &LoopStartArgs, folder: &Path) -> Result<Option<Project>, CommandError> {
    match Project::find_from(folder) {
        Ok(project) => {
            refuse_recursion(&project)?;
            Ok(Some(project))
        }
        Err(error) if args.parse_criteria()?.is_empty() => {
            drop(error);
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn build_loop_file(
    args: &LoopStartArgs,
    settings: &Settings,
    key: &SessionKey,
    root: PathBuf,
) -> Result<LoopFile, CommandError> {
    let criteria = args.parse_criteria()?;
    ensure_run_criteria(settings, &criteria)?;
    let acceptance = build_acceptance(settings)?;
    let sealing = (!criteria.is_empty()).then(|| {
        let sealed = build_sealer(&root, &acceptance, &criteria);
        let sealed = sealed.and_then(|sealer| sealer.seal().map_err(|error| error.to_string()));
        sealed.map_or_else(|why| SealingResult::Impossible { why }, |seal| SealingResult::Done { seal })
    });
    let proof = if criteria.is_empty() { ProofRequirement::ClaimAlone } else { ProofRequirement::Checks };
    let policy = settings.run_policy(settings.session.max_iterations.value, proof);
    let plan = SessionLoopPlan {
        prompt: args.read_task()?,
        rules: settings.claim_rules(parse_promise(&settings.session.promise.value)?),
        criteria,
        policy: Policy { stall_after: settings.classic_stall_limit(), ..policy },
        sealing,
    };
    let state = start_session_loop(plan, &current_moment());
    if let Some(ended) = state.machine.run_end() {
        return Err(CommandError::preflight_error(&ended.reason));
    }
    let delay_ms = u64::try_from(settings.session.continuation_delay.value.as_millis()).unwrap_or(u64::MAX);
    let description = args.description.clone();
    let entry = LoopFile::new(key, root, state);
    let entry = LoopFile { description, acceptance, delay_ms, ..entry };
    Ok(LoopFile { worktree_state: worktree_state(&entry), ..entry })
}

/// Stores the loop in place of the session's current one. A repeated start of the same loop changes nothing.
fn store_loop(loop_store: &LoopStore, key: &SessionKey, entry: LoopFile) -> Result<StartedLoop, CommandError> {
    expire_orphans(loop_store);
    loop_store.remove_expired();
    let is_active = |entry: &LoopFile| entry.loop_state.is_active();
    let elsewhere =
        loop_store.find_with_key(key).ok().flatten().filter(|(other, entry)| other != key && is_active(entry));
    if let Some((other, _)) = &elsewhere {
        // The same session under a less specific key: a session has only one loop.
        super::cancel::cancel_loop(loop_store, other)?;
    }
    let (entry, here) = loop_store.update_loop(key, |there| match there {
        Some(there) if there.loop_state.is_duplicated_by(&entry.loop_state) => (None, (there, None)),
        there => (Some(entry.clone()), (entry, there.filter(is_active))),
    })?;
    let before = here.or(elsewhere.map(|(_, old)| old));
    let replaced = before
        .map(|old| SessionNotice::loop_replaced(old.loop_state.current_iteration(), old.loop_state.max_iterations()));
    let state = &entry.loop_state;
    let started =
        SessionNotice::loop_started(state.max_iterations(), state.rules.promise.as_str()).with_checks(&state.criteria);
    let notices = replaced.into_iter().chain([started]).collect();
    Ok(StartedLoop { loop_file: entry, notices })
}
