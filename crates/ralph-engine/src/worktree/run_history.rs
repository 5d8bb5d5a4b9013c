//! What a work tree held before and after a run, so that it can be compared and undone. Only the newest runs are remembered.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::land::remove_file_and_empty_parents;
use super::obstacles::find_obstacles;
use crate::git::{self, ExpectedRef, RefUpdate, TreeDiffEntry, TreeDiffKind};

/// So many runs are remembered.
const MAX_REMEMBERED_RUNS: usize = 50;

/// More that is not committed is not copied into the repository.
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

/// What is known of a run's work: trees of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTrees {
    pub before: String,
    /// Nothing where the run was cut short, or goes on.
    pub after: Option<String>,
}

/// Remembers what a work tree holds at this moment, unless that would fill the repository with what nobody has committed.
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

/// Returns what is not remembered any longer. The ids of runs are in the order of their beginnings. What an undoing kept stays.
fn expired_run_refs(root: &Path) -> Result<Vec<RefUpdate>, WorktreeError> {
    let of = |name: &str| name.strip_prefix(RUN_REF_PREFIX)?.split('/').next().map(str::to_owned);
    let all = git::list_refs(root, RUN_REF_PREFIX)?;
    let runs: BTreeSet<String> = all.iter().filter_map(|found| of(&found.name)).collect();
    let old: BTreeSet<&String> = runs.iter().rev().skip(MAX_REMEMBERED_RUNS - 1).collect();
    let is_old = |name: &str| of(name).is_some_and(|run| old.contains(&run)) && !name.contains("/undone/");
    let names = all.into_iter().map(|found| found.name).filter(|name| is_old(name));
    Ok(names.map(|name| RefUpdate::Delete { name }).collect())
}

/// Returns what is known of a run's work, if anything is.
pub fn read_run_trees(root: &Path, run: &str) -> Result<Option<RunTrees>, WorktreeError> {
    let at = |moment: SnapshotMoment| git::resolve_object(root, &moment.ref_name(run));
    let Some(before) = at(SnapshotMoment::Before)? else { return Ok(None) };
    Ok(Some(RunTrees { before, after: at(SnapshotMoment::After)? }))
}

/// What an undoing did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoResult {
    pub files: Vec<PathBuf>,
    /// The reference to what lay there.
    pub backup_ref: String,
}

/// Puts the files that a run changed back as they were before it. Commits, branches and the index stay as they are.
pub fn undo_run(root: &Path, run: &str) -> Result<UndoResult, WorktreeError> {
    let nothing = || WorktreeError::NoRunSnapshot { run: run.to_owned() };
    let RunTrees { before, after } = read_run_trees(root, run)?.ok_or_else(nothing)?;
    let after = after.ok_or_else(|| WorktreeError::NoEndSnapshot { run: run.to_owned() })?;
    let now = git::write_worktree_tree(root)?;
    let changed = git::diff_trees(root, &before, &after)?;
    refuse_changed_since(root, (&after, &now), &changed)?;
    let back: Vec<TreeDiffEntry> = changed.iter().map(invert_entry).collect();
    let files = find_obstacles(root, &back);
    if !files.is_empty() {
        return Err(WorktreeError::FilesChangedSince { files });
    }
    let kept = back_up_tree(root, run, &now)?;
    let (added, rest): (Vec<&TreeDiffEntry>, Vec<&TreeDiffEntry>) =
        changed.iter().partition(|change| change.kind == TreeDiffKind::Added);
    added.iter().try_for_each(|change| remove_file_and_empty_parents(root, &change.path))?;
    let rest: Vec<PathBuf> = rest.iter().map(|change| change.path.clone()).collect();
    git::restore_files(root, &before, &rest)?;
    Ok(UndoResult { files: changed.into_iter().map(|change| change.path).collect(), backup_ref: kept })
}

fn invert_entry(change: &TreeDiffEntry) -> TreeDiffEntry {
    let kind = match change.kind {
        TreeDiffKind::Added => TreeDiffKind::Removed,
        TreeDiffKind::Removed => TreeDiffKind::Added,
        TreeDiffKind::Modified => TreeDiffKind::Modified,
    };
    TreeDiffEntry { kind, path: change.path.clone() }
}

/// What others changed in the same files would be lost.
fn refuse_changed_since(
    root: &Path,
    (after, now): (&str, &str),
    changed: &[TreeDiffEntry],
) -> Result<(), WorktreeError> {
    let since: BTreeSet<PathBuf> = git::diff_trees(root, after, now)?.into_iter().map(|one| one.path).collect();
    let files: Vec<PathBuf> =
        changed.iter().map(|change| change.path.clone()).filter(|path| since.contains(path)).collect();
    if files.is_empty() { Ok(()) } else { Err(WorktreeError::FilesChangedSince { files }) }
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
    use crate::worktree::testing::WorktreeFixture;

    /// A run that changes a file, makes one, removes one, and commits some of it.
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
        fs::write(scene.root.join("later"), "somebody else's").unwrap();
        let head = scene.run_git(&["rev-parse", "HEAD"]);
        let undone = undo_run(&scene.root, "r1").unwrap();
        assert_eq!(undone.files, ["file", "old", "sub/new"].map(PathBuf::from));
        let read = |name: &str| fs::read_to_string(scene.root.join(name)).unwrap();
        assert_eq!(
            (read("file"), read("old"), read("later")),
            ("first".into(), "old".into(), "somebody else's".into())
        );
        assert_eq!((read("mine"), scene.run_git(&["rev-parse", "HEAD"])), ("uncommitted before".into(), head));
        assert!(!scene.root.join("sub").exists());
        assert_eq!(run_git(&scene.root, &["show", &format!("{}:sub/new", undone.backup_ref)]).unwrap(), "work");
    }

    // spec: P9
    #[test]
    fn later_changes_in_the_same_files_are_not_undone() {
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
    fn only_the_newest_runs_are_remembered_and_what_was_kept_stays() {
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
        assert_eq!(log.lines().count(), 1, "none of it is in anybody's way: {log}");
    }
}
