//! Snapshots of the work tree before and after a run, so that the run can be compared and undone. Only the snapshots of
//! the newest runs are kept.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use super::exact_snapshot::{
    ExactSnapshot, LeftOutPath, SnapshotNotes, read_current_entries, snapshot_files, snapshot_files_since,
};
use super::land::remove_file_and_empty_parents;
use super::obstacles::find_obstacles;
use super::start_snapshot::{StartSnapshot, take_start_snapshot};
use crate::git::{self, RefUpdate, TreeDiffEntry, TreeDiffKind, TreeEntry};

/// How many runs keep their snapshots.
pub(super) const MAX_REMEMBERED_RUNS: usize = 50;

pub(super) const RUN_REF_PREFIX: &str = "refs/ralph/_runs/";

/// The references of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunRef {
    /// The exact files before the run.
    Before,
    /// The notes about the files before the run that a tree cannot contain.
    Notes,
    /// The files before the run as git would commit them, for the comparison with commits.
    Base,
    /// The exact files after the run.
    After,
}

impl RunRef {
    fn name(self, run: &str) -> String {
        let name = match self {
            Self::Before => "before",
            Self::Notes => "notes",
            Self::Base => "base",
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

/// Whether the files are also needed as git would commit them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaseTree {
    Needed,
    NotNeeded,
}

/// Records the files before a run.
pub fn record_run_start(root: &Path, run: &str, base: BaseTree) -> Result<ExactSnapshot, WorktreeError> {
    let StartSnapshot { exact, base_tree } = take_start_snapshot(root, base)?;
    let mut refs = Vec::new();
    let notes = exact.notes.to_bytes();
    if !notes.is_empty() {
        refs.push((RunRef::Notes.name(run), git::store_exact_text(root, &notes)?));
    }
    // Git would read a huge file to its end.
    if base == BaseTree::Needed && !exact.notes.has_too_large_file() {
        let tree = base_tree.map_or_else(|| git::write_worktree_tree(root), Ok)?;
        refs.push((RunRef::Base.name(run), tree));
    }
    // The last one: a run with it has all of them.
    refs.push((RunRef::Before.name(run), exact.tree.clone()));
    git::create_refs(root, &refs, "ralph: before a run")?;
    Ok(exact)
}

/// Records the files after a run, and forgets the snapshots of old runs.
pub fn record_run_end(root: &Path, run: &str, before: &ExactSnapshot) -> Result<(), WorktreeError> {
    let (expired, after) = git::run_both(|| expired_run_refs(root), || snapshot_files_since(root, before));
    git::create_refs(root, &[(RunRef::After.name(run), after?)], "ralph: after a run")?;
    let expired = expired?;
    if expired.is_empty() { Ok(()) } else { Ok(git::update_refs(root, &expired, "ralph: after a run")?) }
}

/// Returns deletions for the snapshots of old runs, except backups of an undo. Run ids sort by start time.
fn expired_run_refs(root: &Path) -> Result<Vec<RefUpdate>, WorktreeError> {
    if git::list_ref_folders(root, RUN_REF_PREFIX).is_some_and(|runs| runs.len() <= MAX_REMEMBERED_RUNS) {
        return Ok(Vec::new());
    }
    let run_of = |name: &str| name.strip_prefix(RUN_REF_PREFIX)?.split('/').next().map(str::to_owned);
    let all = git::list_refs(root, RUN_REF_PREFIX)?;
    let runs: BTreeSet<String> = all.iter().filter_map(|found| run_of(&found.name)).collect();
    let old: BTreeSet<&String> = runs.iter().rev().skip(MAX_REMEMBERED_RUNS).collect();
    let is_old = |name: &str| run_of(name).is_some_and(|run| old.contains(&run)) && !name.contains("/undone/");
    let names = all.into_iter().map(|found| found.name).filter(|name| is_old(name));
    Ok(names.map(|name| RefUpdate::Delete { name }).collect())
}

/// Returns the trees of a run, if snapshots were taken.
pub fn read_run_trees(root: &Path, run: &str) -> Result<Option<RunTrees>, WorktreeError> {
    let resolve = |moment: RunRef| git::resolve_object(root, &moment.name(run));
    let Some(before) = resolve(RunRef::Before)? else { return Ok(None) };
    Ok(Some(RunTrees { before, after: resolve(RunRef::After)? }))
}

/// Returns the tree of the files before a run, as git would commit them.
pub fn read_base_tree(root: &Path, run: &str) -> Result<Option<String>, WorktreeError> {
    let name = RunRef::Base.name(run);
    git::read_loose_ref(root, &name).map_or_else(|| Ok(git::resolve_object(root, &name)?), |tree| Ok(Some(tree)))
}

/// Returns a tree of the exact files as they are now, for a comparison with the files before a run.
pub fn write_current_tree(root: &Path) -> Result<String, WorktreeError> {
    Ok(snapshot_files(root)?.tree)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoResult {
    /// The restored files.
    pub files: Vec<PathBuf>,
    /// Paths that the snapshot did not contain: they are as the run left them.
    pub left_out: Vec<LeftOutPath>,
    /// The reference to the files before the undo.
    pub backup_ref: String,
}

/// Restores the files that a run changed, byte by byte. Commits, branches and the index do not change.
pub fn undo_run(root: &Path, run: &str) -> Result<UndoResult, WorktreeError> {
    let no_snapshot = || WorktreeError::NoRunSnapshot { run: run.to_owned() };
    let RunTrees { before, after } = read_run_trees(root, run)?.ok_or_else(no_snapshot)?;
    let after = after.ok_or_else(|| WorktreeError::NoEndSnapshot { run: run.to_owned() })?;
    let changed = git::diff_trees(root, &before, &after)?;
    let paths: BTreeSet<PathBuf> = changed.iter().map(|change| change.path.clone()).collect();
    let (old, new) = (git::list_tree_entries(root, &before)?, git::list_tree_entries(root, &after)?);
    let now = read_current_entries(root, paths.iter().cloned())?;
    let differing = |then: &BTreeMap<PathBuf, TreeEntry>| -> Vec<PathBuf> {
        paths.iter().filter(|path| then.get(*path) != now.get(*path)).cloned().collect()
    };
    if !changed.is_empty() && differing(&old).is_empty() {
        return Err(WorktreeError::AlreadyUndone { run: run.to_owned() });
    }
    let inverted: Vec<TreeDiffEntry> = changed.iter().map(invert_entry).collect();
    let files: BTreeSet<PathBuf> = differing(&new).into_iter().chain(find_obstacles(root, &inverted)).collect();
    if !files.is_empty() {
        return Err(WorktreeError::FilesChangedSince { files: files.into_iter().collect() });
    }
    let notes = read_notes(root, run)?;
    let backup_ref = back_up_tree(root, run, &after)?;
    let added = changed.iter().filter(|change| change.kind == TreeDiffKind::Added);
    added.into_iter().try_for_each(|change| remove_file_and_empty_parents(root, &change.path))?;
    let restored: Vec<(&Path, &TreeEntry)> =
        paths.iter().filter_map(|path| Some((path.as_path(), old.get(path)?))).collect();
    restore_exact_files(root, &restored, &notes)?;
    Ok(UndoResult { files: paths.into_iter().collect(), left_out: notes.left_out, backup_ref })
}

fn read_notes(root: &Path, run: &str) -> Result<SnapshotNotes, WorktreeError> {
    let Some(notes) = git::resolve_object(root, &RunRef::Notes.name(run))? else { return Ok(SnapshotNotes::default()) };
    let content = git::read_objects(root, &[&notes])?.pop().unwrap_or_default();
    Ok(SnapshotNotes::from_bytes(&content))
}

/// Writes files with exactly the bytes, kinds and permissions of the snapshot.
fn restore_exact_files(root: &Path, files: &[(&Path, &TreeEntry)], notes: &SnapshotNotes) -> Result<(), WorktreeError> {
    let objects: Vec<&str> = files.iter().map(|(_, entry)| entry.object.as_str()).collect();
    let contents = git::read_objects(root, &objects)?;
    for ((path, entry), content) in files.iter().zip(contents) {
        let default_mode = if entry.mode == "100755" { 0o755 } else { 0o644 };
        let mode = notes.modes.get(*path).copied().unwrap_or(default_mode);
        let file = root.join(path);
        let written = match entry.mode.as_str() {
            "120000" => replace_with_link(&file, &content),
            _ => replace_file(&file, &content, mode),
        };
        written.map_err(|source| WorktreeError::Folder { path: file, source })?;
    }
    Ok(())
}

/// Replaces a file at once, so that a full disk does not leave half of it.
fn replace_file(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let draft = create_draft(path, |draft| fs::write(draft, content))?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(mode))?;
    fs::rename(draft, path)
}

fn replace_with_link(path: &Path, target: &[u8]) -> io::Result<()> {
    let target = std::ffi::OsStr::from_bytes(target);
    fs::rename(create_draft(path, |draft| std::os::unix::fs::symlink(target, draft))?, path)
}

fn create_draft(path: &Path, create: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let draft = folder.join(format!(".ralph-undo-{}", uuid::Uuid::new_v4().simple()));
    create(&draft)?;
    Ok(draft)
}

fn invert_entry(change: &TreeDiffEntry) -> TreeDiffEntry {
    let kind = match change.kind {
        TreeDiffKind::Added => TreeDiffKind::Removed,
        TreeDiffKind::Removed => TreeDiffKind::Added,
        TreeDiffKind::Modified => TreeDiffKind::Modified,
    };
    TreeDiffEntry { kind, path: change.path.clone() }
}

fn back_up_tree(root: &Path, run: &str, tree: &str) -> Result<String, WorktreeError> {
    let prefix = format!("{RUN_REF_PREFIX}{run}/undone/");
    let number = git::list_refs(root, &prefix)?.len() + 1;
    let name = format!("{prefix}{number}");
    git::update_refs(root, &[RefUpdate::create(&name, tree)], "ralph: undone")?;
    Ok(name)
}
