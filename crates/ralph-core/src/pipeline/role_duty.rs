//! The duty of a role, in addition to its criteria.
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::criterion::{Criterion, external_checks};
use crate::pipeline::{StageReport, open_rejection};
use crate::task::Role;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleDuty {
    #[default]
    None,
    /// A coder must have committed since its stage started, or since the work was sent back.
    Commit,
    /// The coder's work must be committed; commits of earlier attempts at the task count.
    CommitForTask,
    /// A reviewer approves with its promise, in a message without `<reject>`.
    Approve,
    /// A tester's claim should be backed by an external check.
    Back,
}

impl RoleDuty {
    /// Returns the duty of a role.
    #[must_use]
    pub fn for_role(role: &Role) -> Self {
        match role {
            Role::Coder => Self::Commit,
            Role::Reviewer => Self::Approve,
            Role::Tester => Self::Back,
            Role::Qa | Role::Other(_) => Self::None,
        }
    }

    /// Returns the duty of a stage after these reports. Work that was sent back must be changed; other work may already
    /// be committed.
    #[must_use]
    pub fn after_stages(self, reports: &[StageReport]) -> Self {
        match self {
            Self::Commit if open_rejection(reports, &Role::Coder).is_none() => Self::CommitForTask,
            Self::None | Self::Commit | Self::CommitForTask | Self::Approve | Self::Back => self,
        }
    }

    /// Returns whether a message that claims completion also rejects the work.
    #[must_use]
    pub fn is_violated_by(self, message: &str) -> bool {
        match self {
            Self::Approve => message.to_ascii_lowercase().contains("<reject"),
            Self::None | Self::Commit | Self::CommitForTask | Self::Back => false,
        }
    }

    /// Returns a warning if the criteria contain no required external check although the duty asks for one.
    #[must_use]
    pub fn missing_check_warning(self, criteria: &[Criterion]) -> Option<String> {
        match self {
            Self::Back if !external_checks(criteria).iter().any(|check| check.required) => {
                Some("no external check backs the tester's claim".into())
            }
            Self::None | Self::Commit | Self::CommitForTask | Self::Approve | Self::Back => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::{ExternalCheck, VerificationMethod};
    use crate::pipeline::StageOutcome;

    // spec: V13
    #[test]
    fn each_role_has_its_duty_and_others_have_none() {
        let duties = Role::BUILT_IN.map(|role| RoleDuty::for_role(&role));
        assert_eq!(duties, [RoleDuty::Commit, RoleDuty::Approve, RoleDuty::Back, RoleDuty::None]);
        assert_eq!(RoleDuty::for_role(&Role::Other("designer".into())), RoleDuty::None);
    }

    // spec: P5, V13
    #[test]
    fn a_coder_in_a_later_attempt_needs_a_new_commit_only_if_the_work_was_sent_back() {
        let reports = |how: StageOutcome| [StageReport { stage: Role::Reviewer, how, words: String::new() }];
        assert_eq!(RoleDuty::Commit.after_stages(&[]), RoleDuty::CommitForTask);
        assert_eq!(RoleDuty::Commit.after_stages(&reports(StageOutcome::Failed)), RoleDuty::CommitForTask);
        assert_eq!(RoleDuty::Commit.after_stages(&reports(StageOutcome::SentBack)), RoleDuty::Commit);
        assert_eq!(RoleDuty::Approve.after_stages(&reports(StageOutcome::Failed)), RoleDuty::Approve);
    }

    // spec: V13
    // finding: N15
    #[test]
    fn work_that_was_sent_back_needs_a_change_until_the_coder_is_accepted() {
        let report = |stage, how| StageReport { stage, how, words: String::new() };
        let mut reports = alloc::vec![
            report(Role::Reviewer, StageOutcome::SentBack),
            report(Role::Coder, StageOutcome::Failed),
            report(Role::Other("planner".into()), StageOutcome::Accepted),
        ];
        assert_eq!(RoleDuty::Commit.after_stages(&reports), RoleDuty::Commit);
        reports.push(report(Role::Coder, StageOutcome::Accepted));
        assert_eq!(RoleDuty::Commit.after_stages(&reports), RoleDuty::CommitForTask);
    }

    // spec: V13
    #[test]
    fn a_reviewer_that_also_rejects_has_not_approved() {
        let message = "<REJECT>no tests</REJECT>\nStill:\n<promise>REVIEW_PASSED</promise>";
        assert!(RoleDuty::Approve.is_violated_by(message));
        assert!(!RoleDuty::Approve.is_violated_by("<promise>REVIEW_PASSED</promise>"));
        assert!(!RoleDuty::Commit.is_violated_by(message), "other roles ignore it");
    }

    // spec: V13
    #[test]
    fn a_tester_without_an_external_check_gets_a_warning() {
        let external = Criterion::from(ExternalCheck::from_shell_text("make test"));
        assert!(
            RoleDuty::Back.missing_check_warning(&[Criterion::from_method(VerificationMethod::StringMatch)]).is_some()
        );
        assert!(RoleDuty::Back.missing_check_warning(&[external]).is_none());
        assert!(RoleDuty::Commit.missing_check_warning(&[]).is_none());
    }
}
