//! Lists the files of a work tree by the rules and settings of its repository: with one walk if that is certain to give the
//! same result as git, which needs two.
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::git::GitError;
use crate::git::config_text::ConfigText;
use crate::git::index::index_file::IndexFile;
use crate::git::objects::tree_edit::{list_files, list_ignored_paths};
use crate::git::work_files::exact_files::{ListedFiles, ObjectStore, run_both};
use crate::git::work_files::unignored_files::list_unignored_files;

/// Settings of a repository with which git ignores other files, or reads other settings.
const OTHER_SETTINGS: [&str; 5] = ["excludesfile", "ignorecase", "precomposeunicode", "worktree", "[include"];

/// The files of a work tree, without regard to whether they have changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeListing {
    /// Files that are tracked or not ignored, sorted. A nested repository is one path that ends with a slash.
    pub files: Vec<PathBuf>,
    /// Ignored files that are not tracked. A folder whose files are all ignored can be one path, which ends with a slash.
    pub ignored: Vec<PathBuf>,
}

/// Lists the files of a work tree.
pub fn list_worktree(root: &Path) -> Result<WorktreeListing, GitError> {
    if let Some(listing) = list_without_git(root) {
        return Ok(listing);
    }
    let (files, ignored) = run_both(|| list_files(root), || list_ignored_paths(root));
    Ok(WorktreeListing { files: sort_paths(files?), ignored: ignored? })
}

/// Lists the files without starting git. `None`: git may list others.
fn list_without_git(root: &Path) -> Option<WorktreeListing> {
    ConfigText::of_repository(root).filter(|config| !config.mentions(&OTHER_SETTINGS))?;
    // Git reads the ignore file of a folder from the index if a flag says that it is missing on purpose.
    let index = IndexFile::read(root).filter(IndexFile::has_only_files)?;
    let tracked = sort_paths(index.entries.into_iter().map(|entry| entry.path).collect());
    let ListedFiles { unignored, mut ignored, .. } =
        list_unignored_files(root, &ObjectStore::find(root).ok()?.exclude)?;
    // In an ignored folder with a tracked file, git lists each ignored file.
    if ignored.iter().any(|path| contains_tracked_file(path, &tracked)) {
        return None;
    }
    ignored.retain(|path| tracked.binary_search_by(|tracked| tracked.as_os_str().cmp(path.as_os_str())).is_err());
    Some(WorktreeListing { files: sort_paths([tracked, unignored].concat()), ignored })
}

/// Returns whether a path is a folder, which ends with a slash, and one of the sorted paths is in it.
fn contains_tracked_file(path: &Path, tracked: &[PathBuf]) -> bool {
    let folder = path.as_os_str().as_bytes();
    let first = tracked.partition_point(|tracked| tracked.as_os_str().as_bytes() < folder);
    folder.ends_with(b"/") && tracked.get(first).is_some_and(|path| path.as_os_str().as_bytes().starts_with(folder))
}

/// Sorts paths by their bytes, each once. The stable sort recognises parts that are sorted already.
fn sort_paths(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::run_git;
    use crate::git::testing::{commit_all, new_repository};

    fn list_with_git(root: &Path) -> WorktreeListing {
        WorktreeListing { files: sort_paths(list_files(root).unwrap()), ignored: list_ignored_paths(root).unwrap() }
    }

    fn write(root: &Path, names: &[&str]) {
        for name in names {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
    }

    // spec: V15
    #[test]
    fn files_and_ignored_files_are_those_that_git_lists() {
        let (_temp, root) = new_repository();
        write(&root, &["tests/a", "kept.log", "removed", "b/c/d"]);
        commit_all(&root);
        fs::write(root.join(".gitignore"), "*.log\nout/\n").unwrap();
        fs::write(root.join(".git/info/exclude"), "secret\n").unwrap();
        fs::remove_file(root.join("removed")).unwrap();
        write(&root, &["new", "a.log", "tests/b.log", "out/a", "out/b/c", "b/secret"]);
        let listing = list_without_git(&root).unwrap();
        assert_eq!(listing, list_with_git(&root));
        assert_eq!(listing.ignored, ["a.log", "b/secret", "out/", "tests/b.log"].map(PathBuf::from));
    }

    // spec: V15
    #[test]
    fn an_ignored_file_in_an_ignored_folder_with_a_tracked_file_is_listed() {
        let (_temp, root) = new_repository();
        write(&root, &["out/kept"]);
        commit_all(&root);
        fs::write(root.join(".gitignore"), "out/\n").unwrap();
        write(&root, &["out/Makefile"]);
        assert_eq!(list_without_git(&root), None);
        assert_eq!(list_worktree(&root).unwrap().ignored, [Path::new("out/Makefile")]);
    }

    // spec: V15
    #[test]
    fn git_lists_the_files_if_its_settings_or_flags_of_its_index_may_matter() {
        let changes: [&[&str]; 4] = [
            &["config", "core.excludesFile", "/elsewhere"],
            &["config", "core.ignoreCase", "true"],
            &["config", "include.path", "other"],
            &["update-index", "--skip-worktree", "file"],
        ];
        for change in changes {
            let (_temp, root) = new_repository();
            commit_all(&root);
            assert!(list_without_git(&root).is_some());
            run_git(&root, change).unwrap();
            assert_eq!(list_without_git(&root), None, "{change:?}");
        }
    }
}
