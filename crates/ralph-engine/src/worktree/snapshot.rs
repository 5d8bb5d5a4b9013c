//! Every attempt is kept, whatever became of it.
use super::ref_names::{self, SnapshotKey};
use super::{TaskWorktree, WorktreeError, WorktreeLayout};
use crate::git::{self, RefEntry, RefUpdate};

/// What a tree held when an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptSnapshot {
    pub key: SnapshotKey,
    /// The number of the earlier round of its stage that it is of.
    pub earlier_round: Option<u32>,
    /// The commit that holds all files. Its parent is the one that the tree stood on.
    pub commit: String,
    /// Seconds since 1970.
    pub taken_at: i64,
}

/// Keeps what a tree holds. Returns the commit, and what git could not take in, if there was something.
pub fn take_snapshot(
    layout: &WorktreeLayout,
    tree: &TaskWorktree,
    mark: &SnapshotKey,
) -> Result<git::WorktreeCommit, WorktreeError> {
    let kept = git::commit_worktree(&tree.path, &format!("ralph: {} {mark}", tree.task_id))?;
    let reference = mark.ref_name(&tree.task_id);
    let new = [RefUpdate::create(&reference, &kept.commit)];
    if git::update_refs(&tree.path, &new, "ralph: an attempt has ended").is_ok() {
        return Ok(kept);
    }
    // The stage was tried before: what it came to then is kept under another name.
    let Some(before) = git::resolve_commit(&tree.path, &reference)? else {
        git::update_refs(&tree.path, &new, "ralph: an attempt has ended")?;
        return Ok(kept);
    };
    keep_commit(layout, &tree.task_id, &format!("earlier/{mark}"), &before)?;
    let moved = [RefUpdate::move_between(&reference, &before, &kept.commit)];
    git::update_refs(&tree.path, &moved, "ralph: an attempt has ended")?;
    Ok(kept)
}

/// Returns the snapshots of a task, oldest first.
pub fn list_snapshots(layout: &WorktreeLayout, name: &str) -> Result<Vec<AttemptSnapshot>, WorktreeError> {
    let of = |found: RefEntry| {
        let earlier = || SnapshotKey::from_earlier_ref(&found.name, name).map(|(mark, number)| (mark, Some(number)));
        let (mark, earlier) = SnapshotKey::from_ref(&found.name, name).map(|mark| (mark, None)).or_else(earlier)?;
        Some(AttemptSnapshot { key: mark, earlier_round: earlier, commit: found.commit, taken_at: found.committed_at })
    };
    let found = git::list_refs(&layout.root, &ref_names::task_ref_prefix(name))?;
    let mut all: Vec<AttemptSnapshot> = found.into_iter().filter_map(of).collect();
    // Git knows no more than seconds.
    all.sort_by(|one, other| {
        let place = |one: &AttemptSnapshot| (one.taken_at, one.key.stage_rank());
        place(one).cmp(&place(other)).then_with(|| one.key.cmp(&other.key))
    });
    Ok(all)
}

/// Lets a new reference lead to a commit that nothing else may lead to, and returns its name.
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

/// Returns the name of the next reference below a prefix whose references are numbered.
pub(super) fn next_numbered_ref(layout: &WorktreeLayout, prefix: &str) -> Result<String, WorktreeError> {
    let found = git::list_refs(&layout.root, prefix)?;
    let numbers = found.iter().filter_map(|one| one.name.strip_prefix(prefix)?.parse::<u32>().ok());
    Ok(format!("{prefix}{}", numbers.max().unwrap_or(0) + 1))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::{self, run_git};
    use crate::worktree::testing::WorktreeFixture;

    fn coder_attempt(iteration: u32, attempt: u32) -> SnapshotKey {
        SnapshotKey { stage: "coder".to_owned(), iteration, attempt }
    }

    // spec: P7
    #[test]
    fn of_two_stages_in_one_second_the_later_one_is_the_newest() {
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
    fn every_attempt_has_a_reference_and_a_stage_that_is_tried_again_loses_none() {
        let scene = WorktreeFixture::new();
        let tree = scene.create_worktree("T");
        fs::write(tree.path.join("new"), "one").unwrap();
        let one = take_snapshot(&scene.layout, &tree, &coder_attempt(1, 1)).unwrap().commit;
        fs::write(tree.path.join("new"), "two").unwrap();
        let two = take_snapshot(&scene.layout, &tree, &coder_attempt(1, 2)).unwrap().commit;
        assert_eq!(scene.run_git(&["rev-parse", "refs/ralph/T/coder/1/2"]), two);
        let marks: Vec<SnapshotKey> =
            list_snapshots(&scene.layout, "T").unwrap().into_iter().map(|one| one.key).collect();
        assert_eq!(marks, [coder_attempt(1, 1), coder_attempt(1, 2)]);
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
