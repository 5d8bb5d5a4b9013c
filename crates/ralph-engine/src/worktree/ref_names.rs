//! The names of the references of a task. Internal names start with `_`, which no stage name does.
use std::fmt;

use ralph_core::task::Role;

/// The branch of a task. It is moved only to accepted work.
pub(super) fn branch_ref(name: &str) -> String {
    format!("refs/heads/ralph/{name}")
}

/// The prefix of all other references of a task.
pub(super) fn task_ref_prefix(name: &str) -> String {
    format!("refs/ralph/{name}/")
}

/// The prefix of the base reference, which is followed by the project key: several projects can share a repository.
pub(super) fn base_ref_prefix(name: &str) -> String {
    format!("refs/ralph/{name}/_base/")
}

pub(super) fn base_ref(name: &str, key: &str) -> String {
    base_ref_prefix(name) + key
}

/// The newest accepted commit. The branch follows it unless it is checked out.
pub(super) fn accepted_ref(name: &str) -> String {
    format!("refs/ralph/{name}/_accepted")
}

/// Returns the task of an `_accepted` reference.
pub(super) fn task_of_accepted_ref(reference: &str) -> Option<&str> {
    reference.strip_prefix("refs/ralph/")?.strip_suffix("/_accepted")
}

/// The prefix of the references to all accepted commits, which are numbered.
pub(super) fn acceptance_ref_prefix(name: &str) -> String {
    format!("refs/ralph/{name}/_acceptances/")
}

/// The prefix of references to commits that could otherwise be lost.
pub(super) fn kept_ref_prefix(name: &str, purpose: &str) -> String {
    format!("refs/ralph/{name}/_{purpose}/")
}

/// The commit of the user's branch before a landing that is in progress.
pub(super) fn landing_from_ref(name: &str) -> String {
    format!("refs/ralph/{name}/_landing/from")
}

/// The merge result of a landing that is in progress.
pub(super) fn landing_to_ref(name: &str) -> String {
    format!("refs/ralph/{name}/_landing/to")
}

/// The reason of the lock on a work tree. A completed work tree is found by it.
pub(super) fn lock_reason(name: &str, key: &str) -> String {
    format!("ralph: {name} of {key}")
}

/// Identifies one attempt of an agent in a work tree.
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

    /// Parses the name of a reference.
    pub(super) fn from_ref(reference: &str, name: &str) -> Option<Self> {
        let mut parts = reference.strip_prefix(&task_ref_prefix(name))?.split('/');
        let stage = parts.next().filter(|stage| !stage.starts_with('_'))?.to_owned();
        let (iteration, attempt) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(Self { stage, iteration, attempt })
    }

    /// Parses the name of a reference to an earlier round of a stage. Returns the key and the number of the round.
    pub(super) fn from_earlier_ref(reference: &str, name: &str) -> Option<(Self, u32)> {
        let (key, number) = reference.strip_prefix(&kept_ref_prefix(name, "earlier"))?.rsplit_once('/')?;
        Some((Self::from_ref(&format!("{}{key}", task_ref_prefix(name)), name)?, number.parse().ok()?))
    }

    /// Returns the position of the stage in the default order.
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
    fn a_snapshot_key_round_trips_through_its_reference_name() {
        let key = SnapshotKey { stage: "coder".to_owned(), iteration: 2, attempt: 10 };
        let name = key.ref_name("TASK-1");
        assert_eq!(name, "refs/ralph/TASK-1/coder/2/10");
        assert_eq!(SnapshotKey::from_ref(&name, "TASK-1"), Some(key));
        for other in [accepted_ref("TASK-1"), base_ref("TASK-1", "k"), kept_ref_prefix("TASK-1", "kept") + "1"] {
            assert_eq!(SnapshotKey::from_ref(&other, "TASK-1"), None, "{other}");
        }
    }
}
