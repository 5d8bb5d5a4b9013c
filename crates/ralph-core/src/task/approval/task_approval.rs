//! Approval of the terms of completion of a task. Terms that an agent wrote need the approval of a person.
use crate::task::approval::approval_items::started_programs;
use crate::task::{CompletionSpec, Task, TaskStatus};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Approval {
    /// A person wrote or approved the terms, or an agent wrote a task that starts no program.
    #[default]
    Granted,
    /// An agent wrote or changed the terms, and no person has approved them.
    Pending,
}

/// The author of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAuthor {
    Person,
    Agent,
}

impl TaskAuthor {
    /// Returns whether this author may change the status of a task. Verified work changes the status of an agent's
    /// task; the agent itself may not.
    #[must_use]
    pub fn can_set_status(self, old: TaskStatus, new: TaskStatus) -> bool {
        match self {
            Self::Person => true,
            Self::Agent => old == new,
        }
    }
}

impl Approval {
    /// Returns the approval after a task was written. `previous` and `old_task` are the approval and the task before
    /// the change; a new task has no `old_task`.
    ///
    /// Writing a task does not approve it: a pending approval stays pending when other fields change. If an agent
    /// changes the terms, approval is required again. A new task that starts no program and has no acceptance rules
    /// needs no approval, and neither does a task from which a person removed both.
    #[must_use]
    pub fn after_change(previous: Self, old_task: Option<&Task>, new_task: &Task, author: TaskAuthor) -> Self {
        let (is_needed, was_needed) = (needs_approval(new_task), old_task.is_some_and(needs_approval));
        match (previous, author) {
            (Self::Pending, TaskAuthor::Person) if was_needed && !is_needed => Self::Granted,
            (Self::Pending, TaskAuthor::Person | TaskAuthor::Agent) => Self::Pending,
            (Self::Granted, TaskAuthor::Person) => Self::Granted,
            (Self::Granted, TaskAuthor::Agent) => after_agent_change(old_task, new_task, is_needed),
        }
    }
}

/// Returns whether a task needs approval if an agent wrote it: it starts a program, or it has acceptance rules.
fn needs_approval(task: &Task) -> bool {
    !started_programs(task).is_empty() || task.completion.as_ref().is_some_and(CompletionSpec::has_acceptance_rules)
}

fn after_agent_change(old_task: Option<&Task>, new_task: &Task, is_needed: bool) -> Approval {
    let is_pending = old_task.map_or(is_needed, |old_task| old_task.completion != new_task.completion);
    if is_pending { Approval::Pending } else { Approval::Granted }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;
    use crate::check_isolation::CheckIsolation;
    use crate::criterion::CheckCommand;
    use crate::task::{RoleSpec, VerificationConfig};

    fn task_with_command(command: Option<&str>) -> Task {
        let config = command.map(|command| VerificationConfig {
            command: Some(CheckCommand::from(command)),
            ..VerificationConfig::default()
        });
        let coder = RoleSpec { verification_config: config, ..RoleSpec::default() };
        let completion = CompletionSpec { coder: Some(coder), ..CompletionSpec::default() };
        Task { title: "A".to_string(), completion: Some(completion), ..Task::default() }
    }

    // spec: T8
    #[test]
    fn the_task_of_an_agent_needs_approval_and_the_task_of_a_person_does_not() {
        let new = task_with_command(Some("make"));
        let after = |task: &Task, author| Approval::after_change(Approval::Granted, None, task, author);
        assert_eq!(after(&new, TaskAuthor::Agent), Approval::Pending);
        assert_eq!(after(&new, TaskAuthor::Person), Approval::Granted);
        assert_eq!(after(&task_with_command(None), TaskAuthor::Agent), Approval::Granted, "it starts nothing");
    }

    // spec: T8
    #[test]
    fn a_person_who_changes_a_task_does_not_approve_it() {
        let (old, new) = (task_with_command(Some("rm -rf /")), task_with_command(Some("make")));
        let titled = Task { title: "B".to_string(), ..old.clone() };
        let after = |now: &Task| Approval::after_change(Approval::Pending, Some(&old), now, TaskAuthor::Person);
        assert_eq!([after(&titled), after(&new)], [Approval::Pending; 2]);
        assert_eq!(after(&task_with_command(None)), Approval::Granted);
    }

    // spec: T8
    #[test]
    fn an_approval_is_revoked_only_when_an_agent_changes_the_terms() {
        let old = task_with_command(Some("make"));
        let titled = Task { title: "B".to_string(), ..old.clone() };
        let after = |now: &Task, author| Approval::after_change(Approval::Granted, Some(&old), now, author);
        assert_eq!(after(&titled, TaskAuthor::Agent), Approval::Granted);
        assert_eq!(after(&task_with_command(Some("true")), TaskAuthor::Agent), Approval::Pending);
        assert_eq!(after(&task_with_command(Some("true")), TaskAuthor::Person), Approval::Granted);
        assert_eq!(
            after(&task_with_command(None), TaskAuthor::Agent),
            Approval::Pending,
            "terms that start nothing count too"
        );
        let mut easier = old.clone();
        easier.completion.as_mut().unwrap().acceptance_criteria = alloc::vec!["anything".to_string()];
        assert_eq!(after(&easier, TaskAuthor::Agent), Approval::Pending);
        let unchanged = Approval::after_change(
            Approval::Pending,
            Some(&task_with_command(None)),
            &task_with_command(None),
            TaskAuthor::Person,
        );
        assert_eq!(unchanged, Approval::Pending, "changing a title does not approve the task");
    }

    // spec: T8, V9, V10
    #[test]
    fn acceptance_rules_of_an_agent_wait_for_approval_even_if_nothing_is_started() {
        let with = |change: fn(&mut CompletionSpec)| {
            let mut task = task_with_command(None);
            task.completion.iter_mut().for_each(change);
            task
        };
        let tasks = [
            with(|spec| spec.allow_changes = Some([String::from("verify.sh")].into())),
            with(|spec| spec.guard = Some([String::from("!tests")].into())),
            with(|spec| spec.isolation = Some(CheckIsolation::Workspace)),
        ];
        for new in tasks {
            let after = Approval::after_change;
            assert_eq!(after(Approval::Granted, None, &new, TaskAuthor::Agent), Approval::Pending);
            assert_eq!(
                after(Approval::Granted, Some(&task_with_command(None)), &new, TaskAuthor::Agent),
                Approval::Pending
            );
            assert_eq!(after(Approval::Granted, None, &new, TaskAuthor::Person), Approval::Granted);
            let removed = after(Approval::Pending, Some(&new), &task_with_command(None), TaskAuthor::Person);
            assert_eq!(removed, Approval::Granted, "a person removed the rule");
        }
    }

    // spec: T8, T1
    #[test]
    fn an_agent_cannot_set_the_status_of_a_task() {
        for now in TaskStatus::ALL {
            assert!(TaskAuthor::Person.can_set_status(TaskStatus::Todo, now));
            assert_eq!(TaskAuthor::Agent.can_set_status(TaskStatus::Todo, now), now == TaskStatus::Todo);
        }
    }
}
