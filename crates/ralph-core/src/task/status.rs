//! How far a task is, and what the end of a stage makes of it.
use serde::{Deserialize, Serialize};

use super::Role;
use crate::outcome::{Ended, Outcome};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
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

impl Status {
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

    /// Returns the status of a task while a role works on it. A role of the user's own moves nothing.
    #[must_use]
    pub fn during(role: &Role) -> Option<Self> {
        match role {
            Role::Coder => Some(Self::Coding),
            Role::Reviewer => Some(Self::Reviewing),
            Role::Tester => Some(Self::Testing),
            Role::Qa => Some(Self::Qa),
            Role::Other(_) => None,
        }
    }

    /// Returns the role whose accepted work a role looks at. The coder can begin at any time.
    #[must_use]
    pub fn comes_after(role: &Role) -> Option<Role> {
        Role::KNOWN
            .into_iter()
            .find(|before| next_stage(before).is_some_and(|next| Self::during(role) == Some(next)))
    }

    /// Tells whether it is a role's turn: the task stands in its stage, or was given back after the stage before it had
    /// been accepted last. Whoever works out of turn moves nothing.
    #[must_use]
    pub fn is_turn_of(self, role: &Role, accepted_last: Option<&Role>) -> bool {
        let Some(before) = Self::comes_after(role) else { return true };
        let given_back = match self {
            Self::Todo | Self::Blocked | Self::Cancelled => true,
            Self::Coding | Self::Reviewing | Self::Testing | Self::Qa | Self::Done => false,
        };
        Self::during(role) == Some(self) || given_back && accepted_last == Some(&before)
    }

    /// Returns the status of a task after a role's stage has ended so. `None`: it stays where it is, because the stage
    /// can go on, or because it was a role of the user's own.
    #[must_use]
    pub fn after(role: &Role, ended: &Ended) -> Option<Self> {
        if let Role::Other(_) = role {
            return None;
        }
        match ended.outcome {
            Outcome::Completed => next_stage(role),
            _ if ended.is_sent_back() => Some(Self::Coding),
            Outcome::Exhausted | Outcome::Failed | Outcome::Stalled | Outcome::OverBudget => Some(Self::Todo),
            Outcome::Blocked => Some(Self::Blocked),
            Outcome::Cancelled => Some(Self::Cancelled),
            Outcome::Interrupted => None,
        }
    }
}

/// Returns where an accepted stage hands the task to.
fn next_stage(role: &Role) -> Option<Status> {
    match role {
        Role::Coder => Some(Status::Reviewing),
        Role::Reviewer => Some(Status::Testing),
        Role::Tester => Some(Status::Qa),
        Role::Qa => Some(Status::Done),
        Role::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn after(role: &Role, outcome: Outcome) -> Option<Status> {
        Status::after(role, &Ended::new(outcome, "why".to_string()))
    }

    // spec: T1
    #[test]
    fn every_status_is_read_back_by_its_name() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
            let json = serde_json::to_string(&status).unwrap();
            assert_eq!(json, alloc::format!("\"{}\"", status.as_str()));
        }
        assert_eq!(Status::parse("doing"), None);
    }

    // spec: T1
    #[test]
    fn an_accepted_stage_hands_the_task_to_the_next_one_and_the_last_is_done() {
        assert_eq!(after(&Role::Coder, Outcome::Completed), Some(Status::Reviewing));
        assert_eq!(after(&Role::Reviewer, Outcome::Completed), Some(Status::Testing));
        assert_eq!(after(&Role::Tester, Outcome::Completed), Some(Status::Qa));
        assert_eq!(after(&Role::Qa, Outcome::Completed), Some(Status::Done));
    }

    // spec: T1
    #[test]
    fn a_stage_that_did_not_get_there_gives_the_task_back_and_one_that_can_go_on_keeps_it() {
        for outcome in [Outcome::Exhausted, Outcome::Failed, Outcome::Stalled, Outcome::OverBudget] {
            assert_eq!(after(&Role::Coder, outcome), Some(Status::Todo));
        }
        assert_eq!(after(&Role::Coder, Outcome::Blocked), Some(Status::Blocked));
        assert_eq!(after(&Role::Coder, Outcome::Interrupted), None);
    }

    // spec: T1
    #[test]
    fn a_role_has_its_turn_after_the_one_before_it_and_the_coder_at_any_time() {
        use Role::{Coder, Qa, Reviewer, Tester};
        for status in Status::ALL {
            assert!(status.is_turn_of(&Coder, None) && status.is_turn_of(&Role::Other("docs".into()), None));
        }
        for (role, own) in [(Reviewer, Status::Reviewing), (Tester, Status::Testing), (Qa, Status::Qa)] {
            for status in Status::ALL {
                assert_eq!(status.is_turn_of(&role, None), status == own, "{role:?} {status:?}");
            }
        }
        assert!(Status::Todo.is_turn_of(&Reviewer, Some(&Coder)), "its own stage had failed");
        assert!(Status::Blocked.is_turn_of(&Qa, Some(&Tester)));
        assert!(!Status::Todo.is_turn_of(&Qa, Some(&Coder)));
        assert!(!Status::Coding.is_turn_of(&Reviewer, Some(&Coder)), "it was sent back");
        assert!(!Status::Done.is_turn_of(&Reviewer, Some(&Coder)));
    }

    // spec: S6
    #[test]
    fn work_that_is_sent_back_is_the_coder_s_again() {
        let ended = Ended::sent_back("no tests");
        assert_eq!(Status::after(&Role::Reviewer, &ended), Some(Status::Coding));
    }

    // spec: T7
    #[test]
    fn a_role_of_the_user_s_own_moves_no_task() {
        let own = Role::Other("docs".to_string());
        assert_eq!(Status::during(&own), None);
        assert_eq!(after(&own, Outcome::Completed), None);
    }
}
