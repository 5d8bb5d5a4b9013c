//! The references of a task. A name of ours begins with `_`, as no stage does.
use std::fmt;

use ralph_core::task::Role;

/// The branch of a task, which only accepted work moves.
pub(super) fn branch_ref(name: &str) -> String {
    format!("refs/heads/ralph/{name}")
}

/// Everything else of a task.
pub(super) fn task_ref_prefix(name: &str) -> String {
    format!("refs/ralph/{name}/")
}

/// Where its work began. The key says which project it belongs to: several can share a repository.
pub(super) fn base_ref_prefix(name: &str) -> String {
    format!("refs/ralph/{name}/_base/")
}

pub(super) fn base_ref(name: &str, key: &str) -> String {
    base_ref_prefix(name) + key
}

/// The newest accepted commit. The branch follows it, where nobody holds that.
pub(super) fn accepted_ref(name: &str) -> String {
    format!("refs/ralph/{name}/_accepted")
}

/// Returns the task whose newest accepted commit a reference is.
pub(super) fn task_of_accepted_ref(reference: &str) -> Option<&str> {
    reference.strip_prefix("refs/ralph/")?.strip_suffix("/_accepted")
}

/// Every commit that was accepted, by number.
pub(super) fn acceptance_ref_prefix(name: &str) -> String {
    format!("refs/ralph/{name}/_acceptances/")
}

/// What would be lost otherwise.
pub(super) fn kept_ref_prefix(name: &str, purpose: &str) -> String {
    format!("refs/ralph/{name}/_{purpose}/")
}

/// A landing that is going on: from where, and where to.
pub(super) fn landing_from_ref(name: &str) -> String {
    format!("refs/ralph/{name}/_landing/from")
}

pub(super) fn landing_to_ref(name: &str) -> String {
    format!("refs/ralph/{name}/_landing/to")
}

/// Why git must not remove the tree. It is how a finished tree is found again.
pub(super) fn lock_reason(name: &str, key: &str) -> String {
    format!("ralph: {name} of {key}")
}

/// One start of an agent in a tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotKey {
    pub stage: String,
    pub iteration: u32,
    pub attempt: u32,
}

impl SnapshotKey {
    pub(super) fn ref_name(&self, name: &str) -> String {
        format!("refs/ralph/{name}/{self}")
    }

    /// Reads it from the name of a reference.
    pub(super) fn from_ref(reference: &str, name: &str) -> Option<Self> {
        let mut parts = reference.strip_prefix(&task_ref_prefix(name))?.split('/');
        let stage = parts.next().filter(|stage| !stage.starts_with('_'))?.to_owned();
        let (iteration, attempt) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(Self { stage, iteration, attempt })
    }

    /// Reads it from the name under which an earlier round of its stage is kept, with the number of that.
    pub(super) fn from_earlier_ref(reference: &str, name: &str) -> Option<(Self, u32)> {
        let (mark, number) = reference.strip_prefix(&kept_ref_prefix(name, "earlier"))?.rsplit_once('/')?;
        Some((Self::from_ref(&format!("{}{mark}", task_ref_prefix(name)), name)?, number.parse().ok()?))
    }

    /// Returns the place of its stage in the usual order.
    pub(super) fn stage_rank(&self) -> usize {
        let role = Role::parse(&self.stage).ok();
        Role::BUILT_IN.iter().position(|known| Some(known) == role.as_ref()).unwrap_or(Role::BUILT_IN.len())
    }
}

impl fmt::Display for SnapshotKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}/{}", self.stage, self.iteration, self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: P7
    #[test]
    fn the_name_of_a_snapshot_says_which_attempt_it_is() {
        let mark = SnapshotKey { stage: "coder".to_owned(), iteration: 2, attempt: 10 };
        let name = mark.ref_name("TASK-1");
        assert_eq!(name, "refs/ralph/TASK-1/coder/2/10");
        assert_eq!(SnapshotKey::from_ref(&name, "TASK-1"), Some(mark));
        for other in [accepted_ref("TASK-1"), base_ref("TASK-1", "k"), kept_ref_prefix("TASK-1", "kept") + "1"] {
            assert_eq!(SnapshotKey::from_ref(&other, "TASK-1"), None, "{other}");
        }
    }
}
