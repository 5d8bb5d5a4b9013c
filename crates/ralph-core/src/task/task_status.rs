//! The status of a task, and its transitions at the end of a stage.
use serde::{Deserialize, Serialize};

use super::Role;
use crate::outcome::{Outcome, RunEnd};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    #[default]
    Todo,
    Coding,
    Reviewing,
    Testing,
    Qa,
    Done,
    Blocked,
    Cancelled,
}

impl TaskStatus {
    pub const ALL: [Self; 8] = [
        Self::Todo,
        Self::Coding,
        Self::Reviewing,
        Self::Testing,
        Self::Qa,
        Self::Done,
        Self::Blocked,
        Self::Cancelled,
    ];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Todo => "todo",
            Self::Coding => "coding",
            Self::Reviewing => "reviewing",
            Self::Testing => "testing",
            Self::Qa => "qa",
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    #[must_use]
    pub fn is_todo(&self) -> bool {
        *self == Self::Todo
    }

    /// Returns the status of a task while a role works on it. Custom roles do not change the status.
    #[must_use]
    pub fn while_in_role(role: &Role) -> Option<Self> {
        match role {
            Role::Coder => Some(Self::Coding),
            Role::Reviewer => Some(Self::Reviewing),
            Role::Tester => Some(Self::Testing),
            Role::Qa => Some(Self::Qa),
            Role::Other(_) => None,
        }
    }

    /// Returns the status of a task that waits for this stage. The status of a custom role is that of a new task.
    #[must_use]
    pub fn before_stage(role: &Role) -> Self {
        Self::while_in_role(role).unwrap_or(Self::Todo)
    }

    /// Returns the role whose accepted work this role judges. The coder has none.
    #[must_use]
    pub fn preceding_role(role: &Role) -> Option<Role> {
        Role::BUILT_IN
            .into_iter()
            .find(|before| status_after_acceptance(before).is_some_and(|next| Self::while_in_role(role) == Some(next)))
    }

    /// Returns whether it is the turn of a role: the task is in its stage, or it was returned after the preceding stage
    /// was accepted last. A role that works out of turn does not change the status.
    #[must_use]
    pub fn is_turn_of(self, role: &Role, accepted_last: Option<&Role>) -> bool {
        let Some(before) = Self::preceding_role(role) else { return true };
        let was_returned = match self {
            Self::Todo | Self::Blocked | Self::Cancelled => true,
            Self::Coding | Self::Reviewing | Self::Testing | Self::Qa | Self::Done => false,
        };
        Self::while_in_role(role) == Some(self) || was_returned && accepted_last == Some(&before)
    }

    /// Returns the status of a task after a stage. `None` means that the status does not change: the stage can be
    /// resumed, or the role is a custom one.
    #[must_use]
    pub fn after_stage(role: &Role, ended: &RunEnd) -> Option<Self> {
        if let Role::Other(_) = role {
            return None;
        }
        match ended.outcome {
            Outcome::Completed => status_after_acceptance(role),
            _ if ended.is_work_sent_back() => Some(Self::Coding),
            Outcome::Exhausted | Outcome::Failed | Outcome::Stalled | Outcome::OverBudget => Some(Self::Todo),
            Outcome::Blocked => Some(Self::Blocked),
            Outcome::Cancelled => Some(Self::Cancelled),
            Outcome::Interrupted => None,
        }
    }
}

/// Returns the status of a task after an accepted stage.
fn status_after_acceptance(role: &Role) -> Option<TaskStatus> {
    match role {
        Role::Coder => Some(TaskStatus::Reviewing),
        Role::Reviewer => Some(TaskStatus::Testing),
        Role::Tester => Some(TaskStatus::Qa),
        Role::Qa => Some(TaskStatus::Done),
        Role::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn status_after(role: &Role, outcome: Outcome) -> Option<TaskStatus> {
        TaskStatus::after_stage(role, &RunEnd::new(outcome, "why".to_string()))
    }

    // spec: T1
    #[test]
    fn every_status_is_read_back_by_its_name() {
        for status in TaskStatus::ALL {
            assert_eq!(TaskStatus::parse(status.as_str()), Some(status));
            let json = serde_json::to_string(&status).unwrap();
            assert_eq!(json, alloc::format!("\"{}\"", status.as_str()));
        }
        assert_eq!(TaskStatus::parse("doing"), None);
    }

    // spec: T1
    #[test]
    fn an_accepted_stage_moves_the_task_to_the_next_stage_or_to_done() {
        assert_eq!(status_after(&Role::Coder, Outcome::Completed), Some(TaskStatus::Reviewing));
        assert_eq!(status_after(&Role::Reviewer, Outcome::Completed), Some(TaskStatus::Testing));
        assert_eq!(status_after(&Role::Tester, Outcome::Completed), Some(TaskStatus::Qa));
        assert_eq!(status_after(&Role::Qa, Outcome::Completed), Some(TaskStatus::Done));
    }

    // spec: T1
    #[test]
    fn a_failed_stage_returns_the_task_and_a_resumable_stage_keeps_its_status() {
        for outcome in [Outcome::Exhausted, Outcome::Failed, Outcome::Stalled, Outcome::OverBudget] {
            assert_eq!(status_after(&Role::Coder, outcome), Some(TaskStatus::Todo));
        }
        assert_eq!(status_after(&Role::Coder, Outcome::Blocked), Some(TaskStatus::Blocked));
        assert_eq!(status_after(&Role::Coder, Outcome::Interrupted), None);
    }

    // spec: T1
    #[test]
    fn a_role_has_its_turn_after_the_preceding_role_and_the_coder_at_any_time() {
        use Role::{Coder, Qa, Reviewer, Tester};
        for status in TaskStatus::ALL {
            assert!(status.is_turn_of(&Coder, None) && status.is_turn_of(&Role::Other("docs".into()), None));
        }
        for (role, expected) in [(Reviewer, TaskStatus::Reviewing), (Tester, TaskStatus::Testing), (Qa, TaskStatus::Qa)]
        {
            for status in TaskStatus::ALL {
                assert_eq!(status.is_turn_of(&role, None), status == expected, "{role:?} {status:?}");
            }
        }
        assert!(TaskStatus::Todo.is_turn_of(&Reviewer, Some(&Coder)), "its own stage had failed");
        assert!(TaskStatus::Blocked.is_turn_of(&Qa, Some(&Tester)));
        assert!(!TaskStatus::Todo.is_turn_of(&Qa, Some(&Coder)));
        assert!(!TaskStatus::Coding.is_turn_of(&Reviewer, Some(&Coder)), "it was sent back");
        assert!(!TaskStatus::Done.is_turn_of(&Reviewer, Some(&Coder)));
    }

    // spec: S6
    #[test]
    fn work_that_is_sent_back_returns_to_the_coder() {
        let ended = RunEnd::work_sent_back("no tests");
        assert_eq!(TaskStatus::after_stage(&Role::Reviewer, &ended), Some(TaskStatus::Coding));
    }

    // spec: T7
    #[test]
    fn a_custom_role_does_not_change_the_status() {
        let custom = Role::Other("docs".to_string());
        assert_eq!(TaskStatus::while_in_role(&custom), None);
        assert_eq!(status_after(&custom, Outcome::Completed), None);
    }
}
