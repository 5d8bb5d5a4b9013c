//! Snapshots of the work tree before and after a run, so that the run can be compared and undone. Only the snapshots of
//! the newest runs are kept.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::land::remove_file_and_empty_parents;
use super::obstacles::find_obstacles;
use crate::git::{self, ExpectedRef, RefUpdate, TreeDiffEntry, TreeDiffKind};

/// How many runs keep their snapshots.
const MAX_REMEMBERED_RUNS: usize = 50;

/// Larger uncommitted files are not copied into the repository.
const MAX_UNCOMMITTED_BYTES: u64 = 64 << 20;

const RUN_REF_PREFIX: &str = "refs/ralph/_runs/";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotMoment {
    Before,
    After,
}

impl SnapshotMoment {
    fn ref_name(self, run: &str) -> String {
        let name = match self {
            Self::Before => "before",
            Self::After => "after",
        };
        format!("{RUN_REF_PREFIX}{run}/{name}")
    }
}

/// The trees of a work tree before and after a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTrees {
    pub before: String,
    /// `None` if the run was interrupted or is still running.
    pub after: Option<String>,
}

/// Takes a snapshot of a work tree, unless its uncommitted files are too large.
pub fn record_run_tree(root: &Path, run: &str, moment: SnapshotMoment) -> Result<(), WorktreeError> {
    if git::uncommitted_bytes(root)? > MAX_UNCOMMITTED_BYTES {
        return Err(WorktreeError::TooMuchUncommitted);
    }
    let to = git::write_worktree_tree(root)?;
    let mut changes = vec![RefUpdate::Set { name: moment.ref_name(run), to, expected: ExpectedRef::Any }];
    if moment == SnapshotMoment::Before {
        changes.extend(expired_run_refs(root)?);
    }
    Ok(git::update_refs(root, &changes, "ralph: a run")?)
}

/// Returns deletions for the snapshots of old runs, except backups of an undo. Run ids sort by start time.
fn expired_run_refs(root: &Path) -> Result<Vec<RefUpdate>, WorktreeError> {
    let run_of = |name: &str| name.strip_prefix(RUN_REF_PREFIX)?.split('/').next().map(str::to_owned);
    let all = git::list_refs(root, RUN_REF_PREFIX)?;
    let runs: BTreeSet<String> = all.iter().filter_map(|found| run_of(&found.name)).collect();
    let old: BTreeSet<&String> = runs.iter().rev().skip(MAX_REMEMBERED_RUNS - 1).collect();
    let is_old = |name: &str| run_of(name).is_some_and(|run| old.contains(&run)) && !name.contains("/undone/");
    let names = all.into_iter().map(|found| found.name).filter(|name| is_old(name));
    Ok(names.map(|name| RefUpdate::Delete { name }).collect())
}

/// Returns the trees of a run, if snapshots were taken.
pub fn read_run_trees(root: &Path, run: &str) -> Result<Option<RunTrees>, WorktreeError> {
    let resolve = |moment: SnapshotMoment| git::resolve_object(root, &moment.ref_name(run));
    let Some(before) = resolve(SnapshotMoment::Before)? else { return Ok(None) };
    Ok(Some(RunTrees { before, after: resolve(SnapshotMoment::After)? }))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoResult {
    /// The restored files.
    pub files: Vec<PathBuf>,
    /// The reference to the files before the undo.
    pub backup_ref: String,
}

/// Restores the files that a run changed. Commits, branches and the index do not change.
pub fn undo_run(root: &Path, run: &str) -> Result<UndoResult, WorktreeError> {
    let no_snapshot = || WorktreeError::NoRunSnapshot { run: run.to_owned() };
    let RunTrees { before, after } = read_run_trees(root, run)?.ok_or_else(no_snapshot)?;
    let after = after.ok_or_else(|| WorktreeError::NoEndSnapshot { run: run.to_owned() })?;
    let now = git::write_worktree_tree(root)?;
    let changed = git::diff_trees(root, &before, &after)?;
    if !changed.is_empty() && differing_files(root, &before, &now, &changed)?.is_empty() {
        return Err(WorktreeError::AlreadyUndone { run: run.to_owned() });
    }
    refuse_changed_since(root, &after, &now, &changed)?;
    let inverted: Vec<TreeDiffEntry> = changed.iter().map(invert_entry).collect();
    let files = find_obstacles(root, &inverted);
    if !files.is_empty() {
        return Err(WorktreeError::FilesChangedSince { files });
    }
    let backup_ref = back_up_tree(root, run, &now)?;
    let (added, rest): (Vec<&TreeDiffEntry>, Vec<&TreeDiffEntry>) =
        changed.iter().partition(|change| change.kind == TreeDiffKind::Added);
    added.iter().try_for_each(|change| remove_file_and_empty_parents(root, &change.path))?;
    let rest: Vec<PathBuf> = rest.iter().map(|change| change.path.clone()).collect();
    git::restore_files(root, &before, &rest)?;
    Ok(UndoResult { files: changed.into_iter().map(|change| change.path).collect(), backup_ref })
}

fn invert_entry(change: &TreeDiffEntry) -> TreeDiffEntry {
    let kind = match change.kind {
        TreeDiffKind::Added => TreeDiffKind::Removed,
        TreeDiffKind::Removed => TreeDiffKind::Added,
        TreeDiffKind::Modified => TreeDiffKind::Modified,
    };
    TreeDiffEntry { kind, path: change.path.clone() }
}

/// Refuses to undo files that were changed after the run: those changes would be lost.
fn refuse_changed_since(root: &Path, after: &str, now: &str, changed: &[TreeDiffEntry]) -> Result<(), WorktreeError> {
    let files = differing_files(root, after, now, changed)?;
    if files.is_empty() { Ok(()) } else { Err(WorktreeError::FilesChangedSince { files }) }
}

/// Returns the files of a run that differ between two trees.
fn differing_files(
    root: &Path,
    from: &str,
    to: &str,
    changed: &[TreeDiffEntry],
) -> Result<Vec<PathBuf>, WorktreeError> {
    let between: BTreeSet<PathBuf> = git::diff_trees(root, from, to)?.into_iter().map(|entry| entry.path).collect();
    Ok(changed.iter().map(|change| change.path.clone()).filter(|path| between.contains(path)).collect())
}

fn back_up_tree(root: &Path, run: &str, tree: &str) -> Result<String, WorktreeError> {
    let prefix = format!("{RUN_REF_PREFIX}{run}/undone/");
    let number = git::list_refs(root, &prefix)?.len() + 1;
    let name = format!("{prefix}{number}");
    git::update_refs(root, &[RefUpdate::create(&name, tree)], "ralph: undone")?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::commit_all;
    use crate::worktree::tests::worktree_fixture::WorktreeFixture;

    /// Simulates a run that changes, creates and removes a file, and commits some of that.
    fn simulate_run(scene: &WorktreeFixture) {
        fs::write(scene.root.join("mine"), "uncommitted before").unwrap();
        record_run_tree(&scene.root, "r1", SnapshotMoment::Before).unwrap();
        fs::write(scene.root.join("file"), "work").unwrap();
        fs::remove_file(scene.root.join("old")).unwrap();
        commit_all(&scene.root);
        fs::create_dir(scene.root.join("sub")).unwrap();
        fs::write(scene.root.join("sub/new"), "work").unwrap();
        record_run_tree(&scene.root, "r1", SnapshotMoment::After).unwrap();
    }

    // spec: P9
    #[test]
    fn a_run_is_undone_and_nothing_else() {
        let scene = WorktreeFixture::new();
        simulate_run(&scene);
        fs::write(scene.root.join("later"), "another file").unwrap();
        let head = scene.run_git(&["rev-parse", "HEAD"]);
        let undone = undo_run(&scene.root, "r1").unwrap();
        assert_eq!(undone.files, ["file", "old", "sub/new"].map(PathBuf::from));
        let read = |name: &str| fs::read_to_string(scene.root.join(name)).unwrap();
        assert_eq!((read("file"), read("old"), read("later")), ("first".into(), "old".into(), "another file".into()));
        assert_eq!((read("mine"), scene.run_git(&["rev-parse", "HEAD"])), ("uncommitted before".into(), head));
        assert!(!scene.root.join("sub").exists());
        assert_eq!(run_git(&scene.root, &["show", &format!("{}:sub/new", undone.backup_ref)]).unwrap(), "work");
    }

    // spec: P9
    #[test]
    fn an_undo_is_refused_if_its_files_were_changed_later() {
        let scene = WorktreeFixture::new();
        simulate_run(&scene);
        fs::write(scene.root.join("file"), "mine now").unwrap();
        let before = scene.user_state();
        let refused = undo_run(&scene.root, "r1").unwrap_err();
        assert!(matches!(&refused, WorktreeError::FilesChangedSince { files } if files == &[PathBuf::from("file")]));
        assert_eq!(scene.user_state(), before);
    }

    // spec: P9
    #[test]
    fn a_run_without_both_snapshots_is_not_undone() {
        let scene = WorktreeFixture::new();
        assert!(matches!(undo_run(&scene.root, "r1"), Err(WorktreeError::NoRunSnapshot { .. })));
        record_run_tree(&scene.root, "r1", SnapshotMoment::Before).unwrap();
        assert!(matches!(undo_run(&scene.root, "r1"), Err(WorktreeError::NoEndSnapshot { .. })));
        assert_eq!(read_run_trees(&scene.root, "r1").unwrap().unwrap().after, None);
    }

    // spec: P9
    #[test]
    fn only_the_newest_runs_keep_snapshots_and_undo_backups_stay() {
        let scene = WorktreeFixture::new();
        let tree = scene.run_git(&["rev-parse", "HEAD^{tree}"]);
        let old = (0..MAX_REMEMBERED_RUNS)
            .map(|number| RefUpdate::create(format!("{RUN_REF_PREFIX}r{number:03}/before"), &tree));
        let kept = RefUpdate::create(format!("{RUN_REF_PREFIX}r000/undone/1"), &tree);
        git::update_refs(&scene.root, &old.chain([kept]).collect::<Vec<_>>(), "test").unwrap();
        record_run_tree(&scene.root, "s", SnapshotMoment::Before).unwrap();
        assert_eq!(read_run_trees(&scene.root, "r000").unwrap(), None);
        assert!(
            read_run_trees(&scene.root, "r001").unwrap().is_some()
                && read_run_trees(&scene.root, "s").unwrap().is_some()
        );
        assert!(git::resolve_object(&scene.root, &format!("{RUN_REF_PREFIX}r000/undone/1")).unwrap().is_some());
        let log = scene.run_git(&["log", "--all", "--oneline"]);
        assert_eq!(log.lines().count(), 1, "the snapshots are not part of the history: {log}");
    }
}
