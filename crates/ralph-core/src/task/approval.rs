//! Whether what decides about a task may be relied on. What an agent wrote waits for a person; a person's own words do not.
use super::{Status, Task, starts};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Approval {
    /// A person wrote what decides, has approved it, or an agent wrote a task that starts nothing.
    #[default]
    Given,
    /// An agent wrote or changed some of it, and no person has approved that.
    Awaited,
}

/// Who writes a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    Person,
    Agent,
}

impl Author {
    /// Tells whether this author may give a task that status. What an agent has done is verified, and that moves its task:
    /// its word does not.
    #[must_use]
    pub fn may_set(self, was: Status, now: Status) -> bool {
        match self {
            Self::Person => true,
            Self::Agent => was == now,
        }
    }
}

impl Approval {
    /// Returns the approval of a task that is written now. `was` and `before` are how it stood with the task that it is
    /// made of, and that task; a new one has none.
    ///
    /// Nobody approves by writing: what waits goes on waiting, whoever changes something else. Where an agent changes what
    /// decides, it waits anew, whether that starts something or no longer does. A new task that starts nothing has
    /// nothing to approve; neither has one from which a person took all that it started.
    #[must_use]
    pub fn after(was: Self, before: Option<&Task>, now: &Task, author: Author) -> Self {
        let is_started = !starts(now).is_empty();
        let was_started = before.is_some_and(|before| !starts(before).is_empty());
        match (was, author) {
            (Self::Awaited, Author::Person) if was_started && !is_started => Self::Given,
            (Self::Awaited, Author::Person | Author::Agent) => Self::Awaited,
            (Self::Given, Author::Person) => Self::Given,
            (Self::Given, Author::Agent) => by_agent(before, now, is_started),
        }
    }
}

fn by_agent(before: Option<&Task>, now: &Task, is_started: bool) -> Approval {
    let waits = before.map_or(is_started, |before| before.completion != now.completion);
    if waits { Approval::Awaited } else { Approval::Given }
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
        let after = |task: &Task, author| Approval::after(Approval::Given, None, task, author);
        assert_eq!(after(&new, Author::Agent), Approval::Awaited);
        assert_eq!(after(&new, Author::Person), Approval::Given);
        assert_eq!(after(&task(None), Author::Agent), Approval::Given, "it starts nothing");
    }

    // spec: T8
    #[test]
    fn a_person_who_changes_a_task_does_not_approve_it() {
        let (old, new) = (task(Some("rm -rf /")), task(Some("make")));
        let titled = Task { title: "B".to_string(), ..old.clone() };
        let after = |now: &Task| Approval::after(Approval::Awaited, Some(&old), now, Author::Person);
        assert_eq!([after(&titled), after(&new)], [Approval::Awaited; 2]);
        assert_eq!(after(&task(None)), Approval::Given);
    }

    // spec: T8
    #[test]
    fn an_agent_who_changes_what_decides_takes_the_approval_away_and_nothing_else_does() {
        let old = task(Some("make"));
        let titled = Task { title: "B".to_string(), ..old.clone() };
        let after = |now: &Task, author| Approval::after(Approval::Given, Some(&old), now, author);
        assert_eq!(after(&titled, Author::Agent), Approval::Given);
        assert_eq!(after(&task(Some("true")), Author::Agent), Approval::Awaited);
        assert_eq!(after(&task(Some("true")), Author::Person), Approval::Given);
        assert_eq!(after(&task(None), Author::Agent), Approval::Awaited, "what starts nothing decides too");
        let mut easier = old.clone();
        easier.completion.as_mut().unwrap().acceptance_criteria = alloc::vec!["anything".to_string()];
        assert_eq!(after(&easier, Author::Agent), Approval::Awaited);
        let patient = Approval::after(Approval::Awaited, Some(&task(None)), &task(None), Author::Person);
        assert_eq!(patient, Approval::Awaited, "nobody approves by changing a title");
    }

    // spec: T8, T1
    #[test]
    fn an_agent_does_not_say_how_far_a_task_is() {
        for now in Status::ALL {
            assert!(Author::Person.may_set(Status::Todo, now));
            assert_eq!(Author::Agent.may_set(Status::Todo, now), now == Status::Todo);
        }
    }
}
