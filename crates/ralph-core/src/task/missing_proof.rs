//! What is demanded of a task where criteria are required: somebody has said when it is done, and something more than the
//! agent's word decides it.
use alloc::string::String;
use alloc::vec::Vec;

use super::{RoleRules, Task};
use crate::criterion::{Criterion, reasons_without_proof};
use crate::judge::JudgeErrorPolicy;

/// Why a stage cannot begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingProof {
    /// Nobody has said when the task is done.
    NoCompletionSpec,
    /// `verify_promises` is false.
    VerificationDisabled,
    /// What is said of each criterion.
    OnlyAgentWord(Vec<String>),
}

/// Returns why a stage with these criteria would leave it to the agent's word, if so.
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
    fn a_task_must_say_when_it_is_done_and_something_must_prove_it() {
        let bare = Task::default();
        let task = Task { completion: Some(CompletionSpec::default()), ..Task::default() };
        let command = [Criterion::from(ExternalCheck::from_shell_text("make"))];
        let why = |task: &Task, rules: &RoleRules, criteria: &[Criterion]| {
            find_missing_proof(task, rules, criteria, JudgeErrorPolicy::Reject)
        };
        assert_eq!(
            why(&bare, &RoleRules::default_rules(), &command),
            Some(MissingProof::NoCompletionSpec),
            "whatever the project checks"
        );
        assert_eq!(why(&task, &RoleRules::default_rules(), &command), None);
        let trusting = RoleRules { verify_promises: false, ..RoleRules::default_rules() };
        assert_eq!(why(&task, &trusting, &[]), Some(MissingProof::VerificationDisabled));
        let word = [Criterion::from_method(VerificationMethod::StringMatch)];
        assert!(
            matches!(why(&task, &RoleRules::default_rules(), &word), Some(MissingProof::OnlyAgentWord(why)) if why.len() == 1)
        );
    }
}
