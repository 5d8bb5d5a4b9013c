//! What is asked of a role beside its criteria.
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::criterion::{Criterion, externals};
use crate::pipeline::{How, Said};
use crate::task::Role;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duty {
    #[default]
    None,
    /// A coder must have committed since its stage began.
    Commit,
    /// The work on the coder's task must be committed: what earlier attempts have committed counts.
    CommitForTask,
    /// A reviewer approves by its promise, in a message that sends nothing back.
    Approve,
    /// A tester's claim should be backed by an external check.
    Back,
}

impl Duty {
    /// Returns the duty of a role.
    #[must_use]
    pub fn of(role: &Role) -> Self {
        match role {
            Role::Coder => Self::Commit,
            Role::Reviewer => Self::Approve,
            Role::Tester => Self::Back,
            Role::Qa | Role::Other(_) => Self::None,
        }
    }

    /// Returns the duty of a stage that follows these others. Work that was sent back must be changed; other work may be
    /// there already.
    #[must_use]
    pub fn following(self, said: &[Said]) -> Self {
        match self {
            Self::Commit if said.last().is_none_or(|last| last.how != How::SentBack) => Self::CommitForTask,
            Self::None | Self::Commit | Self::CommitForTask | Self::Approve | Self::Back => self,
        }
    }

    /// Tells whether a message that claims also says that it does not mean it.
    #[must_use]
    pub fn is_broken_by(self, message: &str) -> bool {
        match self {
            Self::Approve => message.to_ascii_lowercase().contains("<reject"),
            Self::None | Self::Commit | Self::CommitForTask | Self::Back => false,
        }
    }

    /// Returns what people should know of a run with these criteria.
    #[must_use]
    pub fn note(self, criteria: &[Criterion]) -> Option<String> {
        match self {
            Self::Back if !externals(criteria).iter().any(|found| found.required) => {
                Some("no external check stands behind the tester's claim".into())
            }
            Self::None | Self::Commit | Self::CommitForTask | Self::Approve | Self::Back => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::{ExternalCheck, Method};

    // spec: V13
    #[test]
    fn each_role_has_its_duty_and_others_have_none() {
        let duties = Role::KNOWN.map(|role| Duty::of(&role));
        assert_eq!(duties, [Duty::Commit, Duty::Approve, Duty::Back, Duty::None]);
        assert_eq!(Duty::of(&Role::Other("designer".into())), Duty::None);
    }

    // spec: P5, V13
    #[test]
    fn a_coder_of_a_later_attempt_need_not_do_again_what_is_done_unless_it_was_sent_back() {
        let said = |how: How| [Said { stage: Role::Reviewer, how, words: String::new() }];
        assert_eq!(Duty::Commit.following(&[]), Duty::CommitForTask);
        assert_eq!(Duty::Commit.following(&said(How::Failed)), Duty::CommitForTask);
        assert_eq!(Duty::Commit.following(&said(How::SentBack)), Duty::Commit);
        assert_eq!(Duty::Approve.following(&said(How::Failed)), Duty::Approve);
    }

    // spec: V13
    #[test]
    fn a_reviewer_that_also_rejects_has_not_approved() {
        let message = "<REJECT>no tests</REJECT>\nStill:\n<promise>REVIEW_PASSED</promise>";
        assert!(Duty::Approve.is_broken_by(message));
        assert!(!Duty::Approve.is_broken_by("<promise>REVIEW_PASSED</promise>"));
        assert!(!Duty::Commit.is_broken_by(message), "to others it means nothing");
    }

    // spec: V13
    #[test]
    fn a_tester_without_an_external_check_gets_a_note() {
        let external = Criterion::from(ExternalCheck::of_command("make test"));
        assert!(Duty::Back.note(&[Criterion::of(Method::StringMatch)]).is_some());
        assert!(Duty::Back.note(&[external]).is_none());
        assert!(Duty::Commit.note(&[]).is_none());
    }
}
