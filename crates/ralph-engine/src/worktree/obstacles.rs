//! Finds untracked and ignored files that git would overwrite or remove without an error.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::git::{TreeDiffEntry, TreeDiffKind};

/// Returns the files at the paths at which the changes would create files.
pub(super) fn find_obstacles(root: &Path, changes: &[TreeDiffEntry]) -> Vec<PathBuf> {
    let tracked: BTreeSet<&Path> = changes
        .iter()
        .filter(|change| change.kind != TreeDiffKind::Added)
        .map(|change| change.path.as_path())
        .collect();
    let added = changes.iter().filter(|change| change.kind == TreeDiffKind::Added);
    let found: BTreeSet<PathBuf> = added.flat_map(|change| obstacles_at_path(root, &change.path, &tracked)).collect();
    found.into_iter().collect()
}

/// Checks a path and its parent folders.
fn obstacles_at_path(root: &Path, path: &Path, tracked: &BTreeSet<&Path>) -> Vec<PathBuf> {
    let mut parts: Vec<&Path> = path.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
    parts.reverse();
    for part in parts {
        let Ok(found) = root.join(part).symlink_metadata() else { return Vec::new() };
        if !found.is_dir() {
            return if tracked.contains(part) { Vec::new() } else { vec![part.to_path_buf()] };
        }
    }
    // The path is a folder: every untracked file in it is an obstacle.
    let mut inside = Vec::new();
    list_files(root, path, &mut inside);
    inside.retain(|file| !tracked.contains(file.as_path()));
    inside
}

fn list_files(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        let path = folder.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list_files(root, &path, found);
        } else {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff_entry(kind: TreeDiffKind, path: &str) -> TreeDiffEntry {
        TreeDiffEntry { kind, path: path.into() }
    }

    // spec: P6
    #[test]
    fn untracked_files_are_obstacles_and_removed_ones_are_not() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        fs::create_dir_all(root.join("folder/deep")).unwrap();
        for name in ["untracked", "old", "file-above", "folder/tracked", "folder/deep/ignored"] {
            fs::write(root.join(name), "").unwrap();
        }
        let changes = [
            diff_entry(TreeDiffKind::Added, "untracked"),
            diff_entry(TreeDiffKind::Added, "new"),
            diff_entry(TreeDiffKind::Added, "file-above/x"),
            diff_entry(TreeDiffKind::Removed, "old"),
            diff_entry(TreeDiffKind::Added, "old/x"),
            diff_entry(TreeDiffKind::Removed, "folder/tracked"),
            diff_entry(TreeDiffKind::Added, "folder"),
        ];
        let found = find_obstacles(root, &changes);
        assert_eq!(found, ["file-above", "folder/deep/ignored", "untracked"].map(PathBuf::from));
    }
}
