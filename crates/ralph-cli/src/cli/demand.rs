//! Criteria are required: nothing begins where the agent's own word alone would decide.
use ralph_core::criterion::{Criterion, words_alone};
use ralph_core::task::{RoleRules, Task, Undecided, undecided};

use crate::error::Failure;
use ralph_app::config::Settings;

const HINT: &str = "give it a check, such as --check 'make test' or `checks:` in the configuration";

/// Refuses a run with these criteria, if they must prove something and cannot.
pub fn ensure(settings: &Settings, criteria: &[Criterion]) -> Result<(), Failure> {
    if !settings.verification.require_criteria.value {
        return Ok(());
    }
    match words_alone(criteria, settings.judge.on_error.value) {
        None => Ok(()),
        Some(why) => Err(causes(refused(settings), why).hint(HINT)),
    }
}

/// Refuses a stage of a task, if its criteria must prove something and cannot.
pub fn ensure_stage(
    settings: &Settings,
    task: &Task,
    (rules, criteria): (&RoleRules, &[Criterion]),
) -> Result<(), Failure> {
    if !settings.verification.require_criteria.value {
        return Ok(());
    }
    let id = &task.id;
    match undecided(task, rules, criteria, settings.judge.on_error.value) {
        None => Ok(()),
        Some(Undecided::NoSpec) => Err(refused(settings)
            .cause(format!("task {id} has no completion spec: nobody has said when it is done"))
            .hint(format!("give it --outcome and --acceptance with `ralph task edit {id}`"))),
        Some(Undecided::NotVerified) => ensure_verified(settings),
        Some(Undecided::WordsAlone(why)) => Err(causes(refused(settings), why).hint(format!(
            "verify it by more than that: `ralph task edit {id} --coder-verify external --coder-verify-cmd 'make test'`"
        ))),
    }
}

/// Refuses all stages, if claims must be proven and are not verified at all.
pub fn ensure_verified(settings: &Settings) -> Result<(), Failure> {
    let verify_promises = &settings.roles.verify_promises;
    if !settings.verification.require_criteria.value || verify_promises.value {
        return Ok(());
    }
    Err(refused(settings)
        .cause(format!(
            "ralph.verify_promises is false ({}): no claim of a stage is verified",
            verify_promises.origin
        ))
        .hint("set it to true, or do not require criteria"))
}

fn refused(settings: &Settings) -> Failure {
    Failure::usage(format!(
        "nothing more than the agent's own word would decide, and criteria are required ({})",
        settings.verification.require_criteria.origin
    ))
}

fn causes(failure: Failure, why: Vec<String>) -> Failure {
    match why.is_empty() {
        true => failure.cause("there is no check"),
        false => why.into_iter().fold(failure, Failure::cause),
    }
}
