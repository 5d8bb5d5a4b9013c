//! Takes a snapshot of the work tree after every attempt, whatever its result.
use super::ref_names::{self, SnapshotKey};
use super::{TaskWorktree, WorktreeError, WorktreeLayout};
use crate::git::{self, RefEntry, RefUpdate};

/// The files of a work tree at the end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptSnapshot {
    pub key: SnapshotKey,
    /// The number of the earlier round, if the stage was run again since.
    pub earlier_round: Option<u32>,
    /// The commit with all files. Its parent is the HEAD commit of the work tree.
    pub commit: String,
    /// Seconds since 1970.
    pub taken_at: i64,
}

/// Takes a snapshot of a work tree. Returns the commit and git's message about files that it could not add.
pub fn take_snapshot(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    key: &SnapshotKey,
) -> Result<git::WorktreeCommit, WorktreeError> {
    let snapshot = git::commit_worktree(&tree.path, &format!("ralph: {} {key}", tree.task_id))?;
    let reference = key.ref_name(&tree.task_id);
    let new = [RefUpdate::create(&reference, &snapshot.commit)];
    if git::update_refs(&tree.path, &new, "ralph: end of an attempt").is_ok() {
        return Ok(snapshot);
    }
    // The stage was run before: its earlier snapshot is kept under another name.
    let Some(before) = git::resolve_commit(&tree.path, &reference)? else {
        git::update_refs(&tree.path, &new, "ralph: end of an attempt")?;
        return Ok(snapshot);
    };
    keep_commit(layout, &tree.task_id, &format!("earlier/{key}"), &before)?;
    let moved = [RefUpdate::move_between(&reference, &before, &snapshot.commit)];
    git::update_refs(&tree.path, &moved, "ralph: end of an attempt")?;
    Ok(snapshot)
}

/// Returns the snapshots of a task, oldest first.
pub fn list_snapshots(layout: &WorktreeLayout, name: &str) -> Result<Vec<AttemptSnapshot>, WorktreeError> {
    let to_snapshot = |found: RefEntry| {
        let earlier = || SnapshotKey::from_earlier_ref(&found.name, name).map(|(key, number)| (key, Some(number)));
        let (key, earlier_round) = SnapshotKey::from_ref(&found.name, name).map(|key| (key, None)).or_else(earlier)?;
        Some(AttemptSnapshot { key, earlier_round, commit: found.commit, taken_at: found.committed_at })
    };
    let found = git::list_refs(&layout.root, &ref_names::task_ref_prefix(name))?;
    let mut all: Vec<AttemptSnapshot> = found.into_iter().filter_map(to_snapshot).collect();
    // Commit times have a resolution of one second, so stages within a second are ordered by rank.
    all.sort_by(|one, other| {
        let order = |snapshot: &AttemptSnapshot| (snapshot.taken_at, snapshot.key.stage_rank());
        order(one).cmp(&order(other)).then_with(|| one.key.cmp(&other.key))
    });
    Ok(all)
}

/// Creates a reference to a commit that could otherwise be lost, and returns its name.
pub(super) fn keep_commit(
    layout: &WorktreeLayout,
    name: &str,
    purpose: &str,
    commit: &str,
) -> Result<String, WorktreeError> {
    let reference = next_numbered_ref(layout, &ref_names::kept_ref_prefix(name, purpose))?;
    git::update_refs(&layout.root, &[RefUpdate::create(&reference, commit)], "ralph: kept")?;
    Ok(reference)
}

/// Returns the next free name below a prefix whose references are numbered.
pub(super) fn next_numbered_ref(layout: &WorktreeLayout, prefix: &str) -> Result<String, WorktreeError> {
    let found = git::list_refs(&layout.root, prefix)?;
    let numbers = found.iter().filter_map(|found| found.name.strip_prefix(prefix)?.parse::<u32>().ok());
    Ok(format!("{prefix}{}", numbers.max().unwrap_or(0) + 1))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::{self, run_git};
    use crate::worktree::tests::worktree_fixture::WorktreeFixture;

    fn coder_attempt(iteration: u32, attempt: u32) -> SnapshotKey {
        SnapshotKey { stage: "coder".to_owned(), iteration, attempt }
    }

    // spec: P7
    #[test]
    fn snapshots_within_one_second_are_ordered_by_stage() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        let commit = take_snapshot(&scene.layout, &tree, &coder_attempt(1, 1)).unwrap().commit;
        for stage in ["tester", "qa", "reviewer"] {
            let same = [RefUpdate::create(format!("refs/ralph/T/{stage}/1/1"), &commit)];
            git::update_refs(&scene.root, &same, "test").unwrap();
        }
        let all = list_snapshots(&scene.layout, "T").unwrap();
        let stages: Vec<&str> = all.iter().map(|one| one.key.stage.as_str()).collect();
        assert_eq!(stages, ["coder", "reviewer", "tester", "qa"]);
    }

    // spec: P7
    #[test]
    fn every_attempt_has_a_reference_and_running_a_stage_again_loses_none() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        fs::write(tree.path.join("new"), "one").unwrap();
        let one = take_snapshot(&scene.layout, &tree, &coder_attempt(1, 1)).unwrap().commit;
        fs::write(tree.path.join("new"), "two").unwrap();
        let two = take_snapshot(&scene.layout, &tree, &coder_attempt(1, 2)).unwrap().commit;
        assert_eq!(scene.run_git(&["rev-parse", "refs/ralph/T/coder/1/2"]), two);
        let keys: Vec<SnapshotKey> =
            list_snapshots(&scene.layout, "T").unwrap().into_iter().map(|snapshot| snapshot.key).collect();
        assert_eq!(keys, [coder_attempt(1, 1), coder_attempt(1, 2)]);
        fs::write(tree.path.join("new"), "three").unwrap();
        let three = take_snapshot(&scene.layout, &tree, &coder_attempt(1, 1)).unwrap().commit;
        assert_eq!(scene.run_git(&["rev-parse", "refs/ralph/T/coder/1/1"]), three);
        assert_eq!(scene.run_git(&["rev-parse", "refs/ralph/T/_earlier/coder/1/1/1"]), one);
        let all = list_snapshots(&scene.layout, "T").unwrap();
        let earlier = all.iter().find(|one| one.earlier_round == Some(1)).unwrap();
        assert_eq!((&earlier.key, &earlier.commit, all.len()), (&coder_attempt(1, 1), &one, 3));
        assert_eq!(run_git(&tree.path, &["status", "--porcelain"]).unwrap(), "?? new\n");
    }
}
