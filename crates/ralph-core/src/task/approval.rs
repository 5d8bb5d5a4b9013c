//! Whether what decides about a task may be relied on. What an agent wrote waits for a person; a person's own words do not.
use super::{CompletionSpec, Status, Task, starts};

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
    /// decides, it waits anew, whether that starts something or no longer does. A new task that starts nothing and says nothing
    /// of how claims are accepted has nothing to approve; neither has one from which a person took all of that.
    #[must_use]
    pub fn after(was: Self, before: Option<&Task>, now: &Task, author: Author) -> Self {
        let (is_needed, was_needed) = (is_needed(now), before.is_some_and(is_needed));
        match (was, author) {
            (Self::Awaited, Author::Person) if was_needed && !is_needed => Self::Given,
            (Self::Awaited, Author::Person | Author::Agent) => Self::Awaited,
            (Self::Given, Author::Person) => Self::Given,
            (Self::Given, Author::Agent) => by_agent(before, now, is_needed),
        }
    }
}

/// Tells whether a task has something that a person must have seen, if an agent wrote it: it starts something, or says what may
/// change and where claims are checked.
fn is_needed(task: &Task) -> bool {
    !starts(task).is_empty() || task.completion.as_ref().is_some_and(CompletionSpec::says_how_accepted)
}

fn by_agent(before: Option<&Task>, now: &Task, is_needed: bool) -> Approval {
    let waits = before.map_or(is_needed, |before| before.completion != now.completion);
    if waits { Approval::Awaited } else { Approval::Given }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;
    use crate::criterion::CheckCommand;
    use crate::isolation::Isolation;
    use crate::task::{RoleSpec, VerificationConfig};

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

    // spec: T8, V9, V10
    #[test]
    fn what_an_agent_says_of_how_claims_are_accepted_waits_though_it_starts_nothing() {
        let with = |change: fn(&mut CompletionSpec)| {
            let mut task = task(None);
            task.completion.iter_mut().for_each(change);
            task
        };
        let said = [
            with(|spec| spec.allow_changes = Some([String::from("verify.sh")].into())),
            with(|spec| spec.guard = Some([String::from("!tests")].into())),
            with(|spec| spec.isolation = Some(Isolation::Workspace)),
        ];
        for new in said {
            let after =
                |was, before: Option<&Task>, now: &Task, author| Approval::after(was, before, now, author);
            assert_eq!(after(Approval::Given, None, &new, Author::Agent), Approval::Awaited);
            assert_eq!(after(Approval::Given, Some(&task(None)), &new, Author::Agent), Approval::Awaited);
            assert_eq!(after(Approval::Given, None, &new, Author::Person), Approval::Given);
            let taken = after(Approval::Awaited, Some(&new), &task(None), Author::Person);
            assert_eq!(taken, Approval::Given, "a person took it out");
        }
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
