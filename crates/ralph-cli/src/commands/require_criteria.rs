//! Criteria are required: nothing begins where the agent's own word alone would decide.
use ralph_core::criterion::{Criterion, reasons_without_proof};
use ralph_core::task::{MissingProof, RoleRules, Task, find_missing_proof};

use crate::error::CommandError;
use ralph_app::config::Settings;

const ADD_CHECK_HINT: &str = "give it a check, such as --check 'make test' or `checks:` in the configuration";

/// Refuses a run with these criteria, if they must prove something and cannot.
pub fn ensure_run_criteria(settings: &Settings, criteria: &[Criterion]) -> Result<(), CommandError> {
    if !settings.verification.require_criteria.value {
        return Ok(());
    }
    match reasons_without_proof(criteria, settings.judge.on_error.value) {
        None => Ok(()),
        Some(why) => Err(add_causes(unprovable_claim_error(settings), why).with_hint(ADD_CHECK_HINT)),
    }
}

/// Refuses a stage of a task, if its criteria must prove something and cannot.
pub fn ensure_stage_criteria(
    settings: &Settings,
    task: &Task,
    (rules, criteria): (&RoleRules, &[Criterion]),
) -> Result<(), CommandError> {
    if !settings.verification.require_criteria.value {
        return Ok(());
    }
    let id = &task.id;
    match find_missing_proof(task, rules, criteria, settings.judge.on_error.value) {
        None => Ok(()),
        Some(MissingProof::NoCompletionSpec) => Err(unprovable_claim_error(settings)
            .with_cause(format!("task {id} has no completion spec: nobody has said when it is done"))
            .with_hint(format!("give it --outcome and --acceptance with `ralph task edit {id}`"))),
        Some(MissingProof::VerificationDisabled) => ensure_claims_verified(settings),
        Some(MissingProof::OnlyAgentWord(why)) => Err(add_causes(unprovable_claim_error(settings), why).with_hint(format!(
            "verify it by more than that: `ralph task edit {id} --coder-verify external --coder-verify-cmd 'make test'`"
        ))),
    }
}

/// Refuses all stages, if claims must be proven and are not verified at all.
pub fn ensure_claims_verified(settings: &Settings) -> Result<(), CommandError> {
    let verify_promises = &settings.roles.verify_promises;
    if !settings.verification.require_criteria.value || verify_promises.value {
        return Ok(());
    }
    Err(unprovable_claim_error(settings)
        .with_cause(format!(
            "ralph.verify_promises is false ({}): no claim of a stage is verified",
            verify_promises.origin
        ))
        .with_hint("set it to true, or do not require criteria"))
}

fn unprovable_claim_error(settings: &Settings) -> CommandError {
    CommandError::usage_error(format!(
        "nothing more than the agent's own word would decide, and criteria are required ({})",
        settings.verification.require_criteria.origin
    ))
}

fn add_causes(failure: CommandError, reasons: Vec<String>) -> CommandError {
    match reasons.is_empty() {
        true => failure.with_cause("there is no check"),
        false => reasons.into_iter().fold(failure, CommandError::with_cause),
    }
}
