//! The rules of `--require-criteria` for a task: it has a completion spec, and its criteria verify more than the claim.
use alloc::string::String;
use alloc::vec::Vec;

use crate::criterion::{Criterion, reasons_without_proof};
use crate::judge::JudgeErrorPolicy;
use crate::task::{RoleRules, Task};

/// Why a stage cannot start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingProof {
    /// The task has no completion spec.
    NoCompletionSpec,
    /// `verify_promises` is false.
    VerificationDisabled,
    /// No criterion verifies more than the claim. Contains the reason for each criterion.
    OnlyAgentWord(Vec<String>),
}

/// Returns why a stage with these criteria would accept the agent's claim alone, if it would.
#[must_use]
pub fn find_missing_proof(
    task: &Task,
    rules: &RoleRules,
    criteria: &[Criterion],
    on_error: JudgeErrorPolicy,
) -> Option<MissingProof> {
    match (&task.completion, rules.verify_promises) {
        (None, _) => Some(MissingProof::NoCompletionSpec),
        (Some(_), false) => Some(MissingProof::VerificationDisabled),
        (Some(_), true) => reasons_without_proof(criteria, on_error).map(MissingProof::OnlyAgentWord),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::{ExternalCheck, VerificationMethod};
    use crate::task::CompletionSpec;

    // spec: T6, T7
    // fault: 75
    #[test]
    fn a_task_needs_a_completion_spec_and_a_criterion_that_proves_it() {
        let bare = Task::default();
        let task = Task { completion: Some(CompletionSpec::default()), ..Task::default() };
        let command = [Criterion::from(ExternalCheck::from_shell_text("make"))];
        let missing = |task: &Task, rules: &RoleRules, criteria: &[Criterion]| {
            find_missing_proof(task, rules, criteria, JudgeErrorPolicy::Reject)
        };
        assert_eq!(
            missing(&bare, &RoleRules::default_rules(), &command),
            Some(MissingProof::NoCompletionSpec),
            "project checks do not replace it"
        );
        assert_eq!(missing(&task, &RoleRules::default_rules(), &command), None);
        let trusting = RoleRules { verify_promises: false, ..RoleRules::default_rules() };
        assert_eq!(missing(&task, &trusting, &[]), Some(MissingProof::VerificationDisabled));
        let claim_only = [Criterion::from_method(VerificationMethod::StringMatch)];
        let found = missing(&task, &RoleRules::default_rules(), &claim_only);
        assert!(matches!(found, Some(MissingProof::OnlyAgentWord(reasons)) if reasons.len() == 1));
    }
}
