//! Whether what decides about a task may be relied on. What an agent wrote waits for a person; a person's own words do not.
use super::approval_items::started_programs;
use super::{CompletionSpec, Task, TaskStatus};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Approval {
    /// A person wrote what decides, has approved it, or an agent wrote a task that starts nothing.
    #[default]
    Granted,
    /// An agent wrote or changed some of it, and no person has approved that.
    Pending,
}

/// Who writes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAuthor {
    Person,
    Agent,
}

impl TaskAuthor {
    /// Tells whether this author may give a task that status. What an agent has done is verified, and that moves its task:
    /// its word does not.
    #[must_use]
    pub fn can_set_status(self, old: TaskStatus, new: TaskStatus) -> bool {
        match self {
            Self::Person => true,
            Self::Agent => old == new,
        }
    }
}

impl Approval {
    /// Returns the approval of a task that is written now. `was` and `before` are how it stood with the task that it is
    /// made of, and that task; a new one has none.
    ///
    /// Nobody approves by writing: what waits goes on waiting, whoever changes something else. Where an agent changes what
    /// decides, it waits anew, whether that starts something or no longer does. A new task that starts nothing and says nothing
    /// of how claims are accepted has nothing to approve; neither has one from which a person took all of that.
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

/// Tells whether a task has something that a person must have seen, if an agent wrote it: it starts something, or says what may
/// change and where claims are checked.
fn needs_approval(task: &Task) -> bool {
    !started_programs(task).is_empty() || task.completion.as_ref().is_some_and(CompletionSpec::has_acceptance_rules)
}

fn after_agent_change(old_task: Option<&Task>, new_task: &Task, is_needed: bool) -> Approval {
    let waits = old_task.map_or(is_needed, |before| before.completion != new_task.completion);
    if waits { Approval::Pending } else { Approval::Granted }
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
    fn what_an_agent_wrote_waits_and_what_a_person_wrote_does_not() {
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
    fn an_agent_who_changes_what_decides_takes_the_approval_away_and_nothing_else_does() {
        let old = task_with_command(Some("make"));
        let titled = Task { title: "B".to_string(), ..old.clone() };
        let after = |now: &Task, author| Approval::after_change(Approval::Granted, Some(&old), now, author);
        assert_eq!(after(&titled, TaskAuthor::Agent), Approval::Granted);
        assert_eq!(after(&task_with_command(Some("true")), TaskAuthor::Agent), Approval::Pending);
        assert_eq!(after(&task_with_command(Some("true")), TaskAuthor::Person), Approval::Granted);
        assert_eq!(
            after(&task_with_command(None), TaskAuthor::Agent),
            Approval::Pending,
            "what starts nothing decides too"
        );
        let mut easier = old.clone();
        easier.completion.as_mut().unwrap().acceptance_criteria = alloc::vec!["anything".to_string()];
        assert_eq!(after(&easier, TaskAuthor::Agent), Approval::Pending);
        let patient = Approval::after_change(
            Approval::Pending,
            Some(&task_with_command(None)),
            &task_with_command(None),
            TaskAuthor::Person,
        );
        assert_eq!(patient, Approval::Pending, "nobody approves by changing a title");
    }

    // spec: T8, V9, V10
    #[test]
    fn acceptance_rules_of_an_agent_wait_for_approval_even_if_nothing_is_started() {
        let with = |change: fn(&mut CompletionSpec)| {
            let mut task = task_with_command(None);
            task.completion.iter_mut().for_each(change);
            task
        };
        let said = [
            with(|spec| spec.allow_changes = Some([String::from("verify.sh")].into())),
            with(|spec| spec.guard = Some([String::from("!tests")].into())),
            with(|spec| spec.isolation = Some(CheckIsolation::Workspace)),
        ];
        for new in said {
            let after =
                |was, before: Option<&Task>, now: &Task, author| Approval::after_change(was, before, now, author);
            assert_eq!(after(Approval::Granted, None, &new, TaskAuthor::Agent), Approval::Pending);
            assert_eq!(
                after(Approval::Granted, Some(&task_with_command(None)), &new, TaskAuthor::Agent),
                Approval::Pending
            );
            assert_eq!(after(Approval::Granted, None, &new, TaskAuthor::Person), Approval::Granted);
            let taken = after(Approval::Pending, Some(&new), &task_with_command(None), TaskAuthor::Person);
            assert_eq!(taken, Approval::Granted, "a person took it out");
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
