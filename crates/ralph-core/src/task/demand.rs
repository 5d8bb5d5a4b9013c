//! What is demanded of a task where criteria are required: somebody has said when it is done, and something more than the
//! agent's word decides it.
use alloc::string::String;
use alloc::vec::Vec;

use super::{RoleRules, Task};
use crate::criterion::{Criterion, words_alone};
use crate::judge::OnError;

/// Why a stage cannot begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undecided {
    /// Nobody has said when the task is done.
    NoSpec,
    /// `verify_promises` is false.
    NotVerified,
    /// What is said of each criterion.
    WordsAlone(Vec<String>),
}

/// Returns why a stage with these criteria would leave it to the agent's word, if so.
#[must_use]
pub fn undecided(
    task: &Task,
    rules: &RoleRules,
    criteria: &[Criterion],
    on_error: OnError,
) -> Option<Undecided> {
    match (&task.completion, rules.verify_promises) {
        (None, _) => Some(Undecided::NoSpec),
        (Some(_), false) => Some(Undecided::NotVerified),
        (Some(_), true) => words_alone(criteria, on_error).map(Undecided::WordsAlone),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::{ExternalCheck, Method};
    use crate::task::CompletionSpec;

    // spec: T6, T7
    // fault: 75
    #[test]
    fn a_task_must_say_when_it_is_done_and_something_must_prove_it() {
        let bare = Task::default();
        let task = Task { completion: Some(CompletionSpec::default()), ..Task::default() };
        let command = [Criterion::from(ExternalCheck::of_command("make"))];
        let why = |task: &Task, rules: &RoleRules, criteria: &[Criterion]| {
            undecided(task, rules, criteria, OnError::Reject)
        };
        assert_eq!(
            why(&bare, &RoleRules::usual(), &command),
            Some(Undecided::NoSpec),
            "whatever the project checks"
        );
        assert_eq!(why(&task, &RoleRules::usual(), &command), None);
        let trusting = RoleRules { verify_promises: false, ..RoleRules::usual() };
        assert_eq!(why(&task, &trusting, &[]), Some(Undecided::NotVerified));
        let word = [Criterion::of(Method::StringMatch)];
        assert!(
            matches!(why(&task, &RoleRules::usual(), &word), Some(Undecided::WordsAlone(why)) if why.len() == 1)
        );
    }
}
