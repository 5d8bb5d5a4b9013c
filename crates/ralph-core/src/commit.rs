//! Whether the claimed work is committed, where it must be.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::evidence::{CheckEvidence, Kind, Verdict};

/// How the repository stands when a claim is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// The commit that the work tree stands on.
    pub head: Option<String>,
    /// Whether its files are those of the commit that it is compared with.
    pub is_as_before: bool,
    /// Files that are changed or new, and not committed.
    pub uncommitted: Vec<String>,
}

/// What a claim needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Nothing,
    /// Some work was committed.
    Something(Since),
    /// All work is committed: nothing else is checked.
    Everything,
}

/// From when on commits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    Run,
    Task,
}

impl Since {
    const fn words(self) -> &'static str {
        match self {
            Self::Run => "since the run began",
            Self::Task => "since the work on the task began",
        }
    }
}

/// How many files a reason names.
const NAMED: usize = 10;

/// Returns why a claim is rejected, if it is.
#[must_use]
pub fn objection(wanted: Wanted, position: &Position) -> Option<CheckEvidence> {
    let reason = match wanted {
        Wanted::Nothing => return None,
        Wanted::Something(since) if position.head.is_none() || position.is_as_before => {
            format!("claimed, but nothing was committed {}{}", since.words(), open(&position.uncommitted))
        }
        Wanted::Everything if position.head.is_none() => {
            "claimed, but not committed: there is no commit at all".to_string()
        }
        Wanted::Everything if !position.uncommitted.is_empty() => {
            format!("claimed, but not committed{}", open(&position.uncommitted))
        }
        Wanted::Something(_) | Wanted::Everything => return None,
    };
    let plain = CheckEvidence::plain(Kind::Commit, "the commit".to_string(), Verdict::Rejected, reason);
    Some(CheckEvidence { tail: position.uncommitted.join("\n"), ..plain })
}

fn open(files: &[String]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let named: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!(": {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(is_as_before: bool, uncommitted: &[&str]) -> Position {
        let uncommitted = uncommitted.iter().map(|file| (*file).to_string()).collect();
        Position { head: Some("c".to_string()), is_as_before, uncommitted }
    }

    fn reason(wanted: Wanted, position: &Position) -> Option<String> {
        objection(wanted, position).map(|evidence| evidence.reason)
    }

    // spec: V13
    #[test]
    fn a_coder_must_have_committed_something_since_the_run_began() {
        let wanted = Wanted::Something(Since::Run);
        assert_eq!(
            reason(wanted, &position(true, &["a.rs"])).unwrap(),
            "claimed, but nothing was committed since the run began: a.rs"
        );
        assert!(reason(wanted, &Position::default()).unwrap().contains("nothing was committed"));
        let told = reason(Wanted::Something(Since::Task), &position(true, &[])).unwrap();
        assert_eq!(told, "claimed, but nothing was committed since the work on the task began");
        assert_eq!(reason(wanted, &position(false, &["notes"])), None);
    }

    // spec: V10
    #[test]
    fn where_only_the_commit_is_checked_everything_must_be_in_it() {
        let wanted = Wanted::Everything;
        let files: Vec<String> = (0..12).map(|number| format!("f{number}")).collect();
        let many = Position { uncommitted: files, ..position(false, &[]) };
        let told = reason(wanted, &many).unwrap();
        assert!(told.starts_with("claimed, but not committed: f0, f1") && told.ends_with("and 2 more"));
        assert!(reason(wanted, &Position::default()).unwrap().contains("no commit at all"));
        assert_eq!(reason(wanted, &position(true, &[])), None, "an unchanged commit is a commit");
    }

    // spec: V13
    #[test]
    fn nothing_needs_to_be_committed_where_nobody_asks_for_it() {
        assert_eq!(reason(Wanted::Nothing, &position(true, &["a"])), None);
    }
}
