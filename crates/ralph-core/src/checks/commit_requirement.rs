//! Checks that claimed work is committed, if the run requires it.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::evidence::{CheckEvidence, EvidenceKind, Verdict};

/// The state of the repository when a claim is checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryState {
    /// The commit that is checked out.
    pub head: Option<String>,
    /// Whether the files of `head` equal those of the base commit.
    pub is_unchanged: bool,
    /// Changed and untracked files.
    pub uncommitted: Vec<String>,
}

/// The commits that a claim requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitRequirement {
    NotRequired,
    /// At least one change since the start of the period.
    SomeWork(CommitPeriod),
    /// All work; only the commit is checked.
    AllWork,
}

/// The period in which commits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitPeriod {
    Run,
    /// Since a judging role sent the work back, in all attempts.
    Rework,
    Task,
}

impl CommitPeriod {
    const fn describe(self) -> &'static str {
        match self {
            Self::Run => "since the run began",
            Self::Rework => "since the work was sent back",
            Self::Task => "since the work on the task began",
        }
    }
}

/// How many files a reason lists.
const MAX_LISTED_FILES: usize = 10;

/// Returns the evidence against a claim whose work is not committed, or `None` if the requirement is met.
#[must_use]
pub fn check_commit_requirement(requirement: CommitRequirement, repository: &RepositoryState) -> Option<CheckEvidence> {
    let reason = match requirement {
        CommitRequirement::NotRequired => return None,
        CommitRequirement::SomeWork(since) if repository.head.is_none() || repository.is_unchanged => {
            format!(
                "claimed, but nothing was committed {}{}",
                since.describe(),
                list_uncommitted_files(&repository.uncommitted)
            )
        }
        CommitRequirement::AllWork if repository.head.is_none() => {
            "claimed, but not committed: the repository has no commits".to_string()
        }
        CommitRequirement::AllWork if !repository.uncommitted.is_empty() => {
            format!("claimed, but not committed{}", list_uncommitted_files(&repository.uncommitted))
        }
        CommitRequirement::SomeWork(_) | CommitRequirement::AllWork => return None,
    };
    let evidence =
        CheckEvidence::without_output(EvidenceKind::Commit, "the commit".to_string(), Verdict::Rejected, reason);
    Some(CheckEvidence { tail: repository.uncommitted.join("\n"), ..evidence })
}

fn list_uncommitted_files(files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let listed: Vec<&str> = files.iter().take(MAX_LISTED_FILES).map(String::as_str).collect();
    let more = match files.len().saturating_sub(MAX_LISTED_FILES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!(": {}{more}", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository_state(is_unchanged: bool, uncommitted: &[&str]) -> RepositoryState {
        let uncommitted = uncommitted.iter().map(|file| (*file).to_string()).collect();
        RepositoryState { head: Some("c".to_string()), is_unchanged, uncommitted }
    }

    fn rejection_reason(requirement: CommitRequirement, repository: &RepositoryState) -> Option<String> {
        check_commit_requirement(requirement, repository).map(|evidence| evidence.reason)
    }

    // spec: V13
    #[test]
    fn a_coder_must_have_committed_something_since_the_run_began() {
        let required = CommitRequirement::SomeWork(CommitPeriod::Run);
        assert_eq!(
            rejection_reason(required, &repository_state(true, &["a.rs"])).unwrap(),
            "claimed, but nothing was committed since the run began: a.rs"
        );
        assert!(rejection_reason(required, &RepositoryState::default()).unwrap().contains("nothing was committed"));
        let reason =
            rejection_reason(CommitRequirement::SomeWork(CommitPeriod::Task), &repository_state(true, &[])).unwrap();
        assert_eq!(reason, "claimed, but nothing was committed since the work on the task began");
        assert_eq!(rejection_reason(required, &repository_state(false, &["notes"])), None);
    }

    // spec: V10
    #[test]
    fn all_work_must_be_committed_if_only_the_commit_is_checked() {
        let required = CommitRequirement::AllWork;
        let files: Vec<String> = (0..12).map(|number| format!("f{number}")).collect();
        let many = RepositoryState { uncommitted: files, ..repository_state(false, &[]) };
        let reason = rejection_reason(required, &many).unwrap();
        assert!(reason.starts_with("claimed, but not committed: f0, f1") && reason.ends_with("and 2 more"));
        assert!(rejection_reason(required, &RepositoryState::default()).unwrap().contains("has no commits"));
        assert_eq!(rejection_reason(required, &repository_state(true, &[])), None, "an unchanged commit is a commit");
    }

    // spec: V13
    #[test]
    fn uncommitted_work_is_accepted_if_no_commit_is_required() {
        assert_eq!(rejection_reason(CommitRequirement::NotRequired, &repository_state(true, &["a"])), None);
    }
}
