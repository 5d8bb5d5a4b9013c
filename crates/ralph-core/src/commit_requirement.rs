//! Whether the claimed work is committed, where it must be.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::evidence::{CheckEvidence, EvidenceKind, Verdict};

/// How the repository stands when a claim is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryState {
    /// The commit that the work tree stands on.
    pub head: Option<String>,
    /// Whether its files are those of the commit that it is compared with.
    pub is_unchanged: bool,
    /// Files that are changed or new, and not committed.
    pub uncommitted: Vec<String>,
}

/// What a claim needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitRequirement {
    NotRequired,
    /// Some work was committed.
    SomeWork(CommitPeriod),
    /// All work is committed: nothing else is checked.
    AllWork,
}

/// From when on commits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitPeriod {
    Run,
    Task,
}

impl CommitPeriod {
    const fn describe(self) -> &'static str {
        match self {
            Self::Run => "since the run began",
            Self::Task => "since the work on the task began",
        }
    }
}

/// How many files a reason names.
const MAX_LISTED_FILES: usize = 10;

/// Returns why a claim is rejected, if it is.
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
            "claimed, but not committed: there is no commit at all".to_string()
        }
        CommitRequirement::AllWork if !repository.uncommitted.is_empty() => {
            format!("claimed, but not committed{}", list_uncommitted_files(&repository.uncommitted))
        }
        CommitRequirement::SomeWork(_) | CommitRequirement::AllWork => return None,
    };
    let plain =
        CheckEvidence::without_output(EvidenceKind::Commit, "the commit".to_string(), Verdict::Rejected, reason);
    Some(CheckEvidence { tail: repository.uncommitted.join("\n"), ..plain })
}

fn list_uncommitted_files(files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let named: Vec<&str> = files.iter().take(MAX_LISTED_FILES).map(String::as_str).collect();
    let more = match files.len().saturating_sub(MAX_LISTED_FILES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!(": {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository_state(is_as_before: bool, uncommitted: &[&str]) -> RepositoryState {
        let uncommitted = uncommitted.iter().map(|file| (*file).to_string()).collect();
        RepositoryState { head: Some("c".to_string()), is_unchanged: is_as_before, uncommitted }
    }

    fn rejection_reason(requirement: CommitRequirement, repository: &RepositoryState) -> Option<String> {
        check_commit_requirement(requirement, repository).map(|evidence| evidence.reason)
    }

    // spec: V13
    #[test]
    fn a_coder_must_have_committed_something_since_the_run_began() {
        let wanted = CommitRequirement::SomeWork(CommitPeriod::Run);
        assert_eq!(
            rejection_reason(wanted, &repository_state(true, &["a.rs"])).unwrap(),
            "claimed, but nothing was committed since the run began: a.rs"
        );
        assert!(rejection_reason(wanted, &RepositoryState::default()).unwrap().contains("nothing was committed"));
        let told =
            rejection_reason(CommitRequirement::SomeWork(CommitPeriod::Task), &repository_state(true, &[])).unwrap();
        assert_eq!(told, "claimed, but nothing was committed since the work on the task began");
        assert_eq!(rejection_reason(wanted, &repository_state(false, &["notes"])), None);
    }

    // spec: V10
    #[test]
    fn where_only_the_commit_is_checked_everything_must_be_in_it() {
        let wanted = CommitRequirement::AllWork;
        let files: Vec<String> = (0..12).map(|number| format!("f{number}")).collect();
        let many = RepositoryState { uncommitted: files, ..repository_state(false, &[]) };
        let told = rejection_reason(wanted, &many).unwrap();
        assert!(told.starts_with("claimed, but not committed: f0, f1") && told.ends_with("and 2 more"));
        assert!(rejection_reason(wanted, &RepositoryState::default()).unwrap().contains("no commit at all"));
        assert_eq!(rejection_reason(wanted, &repository_state(true, &[])), None, "an unchanged commit is a commit");
    }

    // spec: V13
    #[test]
    fn nothing_needs_to_be_committed_where_no_commit_is_required() {
        assert_eq!(rejection_reason(CommitRequirement::NotRequired, &repository_state(true, &["a"])), None);
    }
}
