//! The events that can be notified, and the rule of a target that selects them.
use alloc::vec::Vec;

/// Something that happened to a run, a task or a workflow run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotificationEvent {
    Completed,
    Failed,
    Blocked,
    OverBudget,
    Stalled,
    Exhausted,
    /// A person must answer, decide or approve.
    Waiting,
    /// Its process died.
    Died,
}

/// The kind of work that an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotificationSubject {
    /// A run without a task.
    Run,
    /// A task with all its stages.
    Task,
    /// A workflow run with all its nodes.
    Workflow,
}

/// Which events a target gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationRule {
    pub events: Vec<NotificationEvent>,
    pub subjects: Vec<NotificationSubject>,
}

impl NotificationEvent {
    pub const ALL: [Self; 8] = [
        Self::Completed,
        Self::Failed,
        Self::Blocked,
        Self::OverBudget,
        Self::Stalled,
        Self::Exhausted,
        Self::Waiting,
        Self::Died,
    ];

    /// Returns the name, which is stable.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::OverBudget => "over_budget",
            Self::Stalled => "stalled",
            Self::Exhausted => "exhausted",
            Self::Waiting => "waiting",
            Self::Died => "died",
        }
    }

    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == name)
    }
}

impl NotificationSubject {
    pub const ALL: [Self; 3] = [Self::Run, Self::Task, Self::Workflow];

    /// Returns the name, which is stable.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Task => "task",
            Self::Workflow => "workflow",
        }
    }

    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.as_str() == name)
    }
}

impl Default for NotificationRule {
    fn default() -> Self {
        Self { events: NotificationEvent::ALL.to_vec(), subjects: NotificationSubject::ALL.to_vec() }
    }
}

impl NotificationRule {
    /// Returns whether the target gets an event. One that blocks with a question has two names; one of them is enough.
    #[must_use]
    pub fn selects(&self, events: &[NotificationEvent], subject: NotificationSubject) -> bool {
        self.subjects.contains(&subject) && events.iter().any(|event| self.events.contains(event))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    // spec: U7
    #[test]
    fn a_target_without_a_rule_gets_everything() {
        let rule = NotificationRule::default();
        for event in NotificationEvent::ALL {
            for subject in NotificationSubject::ALL {
                assert!(rule.selects(&[event], subject), "{event:?} {subject:?}");
            }
        }
    }

    // spec: U7
    #[test]
    fn a_rule_selects_by_event_and_by_kind_of_work() {
        let rule = NotificationRule {
            events: vec![NotificationEvent::Waiting, NotificationEvent::Failed],
            subjects: vec![NotificationSubject::Task],
        };
        assert!(rule.selects(&[NotificationEvent::Failed], NotificationSubject::Task));
        assert!(!rule.selects(&[NotificationEvent::Failed], NotificationSubject::Run));
        assert!(!rule.selects(&[NotificationEvent::Completed], NotificationSubject::Task));
        let question = [NotificationEvent::Blocked, NotificationEvent::Waiting];
        assert!(rule.selects(&question, NotificationSubject::Task), "one of the two names is enough");
    }

    // spec: U7
    #[test]
    fn every_name_is_read_back() {
        for event in NotificationEvent::ALL {
            assert_eq!(NotificationEvent::parse(event.as_str()), Some(event));
        }
        for subject in NotificationSubject::ALL {
            assert_eq!(NotificationSubject::parse(subject.as_str()), Some(subject));
        }
        assert_eq!(NotificationEvent::parse("Blocked"), None);
    }
}
