//! Whether the checks of a task may be started. What an agent wrote waits for a person; a person's own words do not.
use super::{Start, Task, starts};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Approval {
    /// A person wrote the checks, has approved them, or there is nothing to start.
    #[default]
    Given,
    /// An agent wrote some of them, and no person has approved them.
    Awaited,
}

/// Who writes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    Person,
    Agent,
}

impl Approval {
    /// Returns the approval of a task that is written now. `was` and `before` are how it stood with the task that it is
    /// made of, and what that started; a new one started nothing.
    ///
    /// Nobody approves by writing: what waits goes on waiting, whoever changes something else. What an agent changes
    /// waits anew. Only a task that starts nothing has nothing to approve.
    #[must_use]
    pub fn after(was: Self, before: &[Start], now: &Task, author: Author) -> Self {
        let started = starts(now);
        match (was, author) {
            (_, _) if started.is_empty() => Self::Given,
            (Self::Awaited, _) => Self::Awaited,
            (Self::Given, Author::Agent) if started != before => Self::Awaited,
            (Self::Given, Author::Agent | Author::Person) => Self::Given,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::criterion::CheckCommand;
    use crate::task::{CompletionSpec, RoleSpec, VerificationConfig};

    fn task(command: Option<&str>) -> Task {
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
        let new = task(Some("make"));
        let after = |task: &Task, author| Approval::after(Approval::Given, &[], task, author);
        assert_eq!(after(&new, Author::Agent), Approval::Awaited);
        assert_eq!(after(&new, Author::Person), Approval::Given);
        assert_eq!(after(&task(None), Author::Agent), Approval::Given, "it starts nothing");
    }

    // spec: T8
    #[test]
    fn a_person_who_changes_a_task_does_not_approve_it() {
        let (old, new) = (task(Some("rm -rf /")), task(Some("make")));
        let titled = Task { title: "B".to_string(), ..old.clone() };
        let after = |now: &Task| Approval::after(Approval::Awaited, &starts(&old), now, Author::Person);
        assert_eq!([after(&titled), after(&new)], [Approval::Awaited; 2]);
        assert_eq!(after(&task(None)), Approval::Given);
    }

    // spec: T8
    #[test]
    fn an_agent_who_changes_what_is_started_takes_the_approval_away_and_nothing_else_does() {
        let old = task(Some("make"));
        let titled = Task { title: "B".to_string(), ..old.clone() };
        let after = |now: &Task, author| Approval::after(Approval::Given, &starts(&old), now, author);
        assert_eq!(after(&titled, Author::Agent), Approval::Given);
        assert_eq!(after(&task(Some("true")), Author::Agent), Approval::Awaited);
        assert_eq!(after(&task(Some("true")), Author::Person), Approval::Given);
    }
}
