//! `require_criteria`: refuses a run or stage whose claims only the agent's word would decide.
use ralph_core::criterion::{Criterion, external_checks, reasons_without_proof};
use ralph_core::task::{MissingProof, RoleRules, Task, find_missing_proof};

use crate::advice::Advice;
use crate::config::Settings;
use crate::error::{AppError, AppResult};

/// Refuses a run if criteria are required and these cannot verify a claim.
pub fn ensure_run_criteria(settings: &Settings, criteria: &[Criterion]) -> AppResult<()> {
    if !settings.verification.require_criteria.value {
        return Ok(());
    }
    match reasons_without_proof(criteria, settings.judge.on_error.value) {
        None => Ok(()),
        Some(why) => Err(add_causes(unprovable_claim_error(settings), why).with_advice(Advice::AddCheck)),
    }
}

/// Refuses a run if proof is required and no claim could be proven: a required command must be run before the work.
pub fn ensure_provable(settings: &Settings, criteria: &[Criterion]) -> AppResult<()> {
    let (require_proof, baseline) = (&settings.verification.require_proof, &settings.verification.baseline);
    if !require_proof.value {
        return Ok(());
    }
    let error = || {
        AppError::invalid_request(format!("no claim could be proven, but proof is required ({})", require_proof.origin))
    };
    if !baseline.value {
        let cause = format!("the checks are not run before the work ({})", baseline.origin);
        return Err(error().with_cause(cause).with_advice("run the checks before the work, or do not require proof"));
    }
    match external_checks(criteria).iter().any(|found| found.required) {
        true => Ok(()),
        false => Err(error().with_cause("there is no required command among the checks").with_advice(Advice::AddCheck)),
    }
}

/// Refuses a stage of a task if criteria are required and its own cannot verify a claim.
pub fn ensure_stage_criteria(
    settings: &Settings,
    task: &Task,
    rules: &RoleRules,
    criteria: &[Criterion],
) -> AppResult<()> {
    if !settings.verification.require_criteria.value {
        return Ok(());
    }
    let id = &task.id;
    match find_missing_proof(task, rules, criteria, settings.judge.on_error.value) {
        None => Ok(()),
        Some(MissingProof::NoCompletionSpec) => Err(unprovable_claim_error(settings)
            .with_cause(format!("task {id} has no completion spec"))
            .with_advice(Advice::DescribeOutcome { task: id.clone() })),
        Some(MissingProof::VerificationDisabled) => ensure_claims_verified(settings),
        Some(MissingProof::OnlyAgentWord(why)) => {
            Err(add_causes(unprovable_claim_error(settings), why)
                .with_advice(Advice::AddTaskCheck { task: id.clone() }))
        }
    }
}

/// Refuses all stages if criteria are required but the verification of claims is switched off.
pub fn ensure_claims_verified(settings: &Settings) -> AppResult<()> {
    let verify_promises = &settings.roles.verify_promises;
    if !settings.verification.require_criteria.value || verify_promises.value {
        return Ok(());
    }
    Err(unprovable_claim_error(settings)
        .with_cause(format!(
            "ralph.verify_promises is false ({}): no claim of a stage is verified",
            verify_promises.origin
        ))
        .with_advice("set it to true, or do not require criteria"))
}

fn unprovable_claim_error(settings: &Settings) -> AppError {
    AppError::invalid_request(format!(
        "no check could verify a claim, but criteria are required ({})",
        settings.verification.require_criteria.origin
    ))
}

fn add_causes(failure: AppError, reasons: Vec<String>) -> AppError {
    match reasons.is_empty() {
        true => failure.with_cause("there is no check"),
        false => reasons.into_iter().fold(failure, AppError::with_cause),
    }
}
