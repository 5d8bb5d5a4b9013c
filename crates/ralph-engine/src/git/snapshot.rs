//! Takes a snapshot of a work tree as a tree hash. It changes nothing: new files are hashed into a temporary object
//! folder.
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ralph_core::receipt::WorkTreeSnapshot;

use super::GitError;
use super::isolated_git::IsolatedGit;
use super::temporary_folder::TemporaryFolder;

/// Returns the HEAD commit of a work tree and the tree hash of all its files except ignored ones.
pub fn take_snapshot(root: &Path) -> Result<WorkTreeSnapshot, GitError> {
    let WorktreeStatus { commit, committed_tree, is_clean, index_base } = read_worktree_status(root)?;
    let (tree, left_out) = match &committed_tree {
        Some(tree) if is_clean => (tree.clone(), None),
        Some(_) | None => hash_worktree(root, &index_base)?,
    };
    let is_committed = committed_tree.as_ref() == Some(&tree) && left_out.is_none();
    Ok(WorkTreeSnapshot { is_committed, commit, tree, left_out })
}

/// Returns the tree hash of a work tree, if it covers every file that is not ignored: there are no nested repositories,
/// whose files it does not cover, and no sparse checkout.
pub fn complete_tree_hash(root: &Path) -> Result<Option<String>, GitError> {
    let WorkTreeSnapshot { tree, left_out, .. } = take_snapshot(root)?;
    let git = IsolatedGit::in_folder(root);
    let is_complete = left_out.is_none()
        && !list_index_entries(&git, &["-v"])?.iter().any(|entry| entry.starts_with(b"S "))
        && !has_nested_repositories(&git, root)?;
    Ok(is_complete.then_some(tree))
}

/// Returns whether there are nested repositories below a work tree, as submodules or untracked.
fn has_nested_repositories(git: &IsolatedGit<'_>, root: &Path) -> Result<bool, GitError> {
    let is_link = |entry: &Vec<u8>| entry.starts_with(b"160000 ");
    if list_index_entries(git, &["--stage"])?.iter().any(is_link) {
        return Ok(true);
    }
    // Git lists an untracked repository as a folder, without the files in it.
    let others = list_index_entries(git, &["--others", "--exclude-standard"])?;
    let is_repository = |path: &Vec<u8>| root.join(OsStr::from_bytes(path)).join(".git").symlink_metadata().is_ok();
    Ok(others.iter().filter(|path| path.ends_with(b"/")).any(is_repository))
}

fn list_index_entries(git: &IsolatedGit<'_>, options: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
    let listed = git.read_stdout(&[&["ls-files", "-z"], options].concat())?;
    Ok(listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(<[u8]>::to_vec).collect())
}

/// The HEAD commit of a work tree, and whether there are uncommitted changes.
pub(super) struct WorktreeStatus {
    pub(super) commit: Option<String>,
    /// The tree of the commit.
    pub(super) committed_tree: Option<String>,
    pub(super) is_clean: bool,
    pub(super) index_base: IndexBase,
}

/// Lists new files and changed submodules, whatever the settings are.
const STATUS_ARGS: &[&str] = &[
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--no-renames",
    "--untracked-files=normal",
    "--ignore-submodules=none",
];

pub(super) fn read_worktree_status(root: &Path) -> Result<WorktreeStatus, GitError> {
    let git = IsolatedGit::in_folder(root);
    let status = git.read_stdout(STATUS_ARGS)?;
    let (mut commit, mut is_clean) = (None, true);
    for entry in status.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        match entry.strip_prefix(b"# branch.oid ") {
            Some(b"(initial)") => {}
            Some(oid) => commit = Some(String::from_utf8_lossy(oid).into_owned()),
            None => is_clean &= entry.starts_with(b"#"),
        }
    }
    let committed_tree = match &commit {
        Some(commit) => Some(git.read_line(&["rev-parse", &format!("{commit}^{{tree}}")])?),
        None => None,
    };
    let index_base = choose_index_base(&git, root, commit.as_deref())?;
    let is_clean = is_clean && index_base == IndexBase::UserIndex;
    Ok(WorktreeStatus { commit, committed_tree, is_clean, index_base })
}

/// Takes a snapshot of the HEAD commit, without uncommitted changes.
pub fn snapshot_head(root: &Path) -> Result<WorkTreeSnapshot, GitError> {
    let git = IsolatedGit::in_folder(root);
    let commit = git.read_line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let tree = git.read_line(&["rev-parse", &format!("{commit}^{{tree}}")])?;
    Ok(WorkTreeSnapshot { commit: Some(commit), tree, is_committed: true, left_out: None })
}

/// Returns a commit with this tree, if one is reachable from a branch, a tag or HEAD.
pub fn find_commit_with_tree(root: &Path, tree: &str) -> Result<Option<String>, GitError> {
    let starts = ["--branches", "--tags", "--remotes", "HEAD"];
    let all = IsolatedGit::in_folder(root).read_stdout(&[&["log", "--format=%T %H"][..], &starts].concat())?;
    let all = String::from_utf8_lossy(&all).into_owned();
    Ok(all.lines().find_map(|line| line.strip_prefix(tree)?.strip_prefix(' ').map(str::to_owned)))
}

/// Returns the trees of a commit and of all commits since, up to HEAD.
pub fn list_trees_since(root: &Path, base: &str) -> Result<Vec<String>, GitError> {
    let (since, base_tree) = (format!("{base}..HEAD"), format!("{base}^{{tree}}"));
    let all = IsolatedGit::in_folder(root).read_stdout(&["log", "--format=%T", &since])?;
    let all = String::from_utf8_lossy(&all).into_owned();
    let base_tree = IsolatedGit::in_folder(root).read_line(&["rev-parse", "--verify", &base_tree])?;
    Ok(all.lines().map(str::to_owned).chain([base_tree]).collect())
}

/// The index that a snapshot starts from. Git does not read files again whose times match the index.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IndexBase {
    /// A copy of the user's index.
    UserIndex,
    /// An index of this commit, because the user's index marks files as unchanged and so could hide changes.
    Commit(Option<String>),
}

fn choose_index_base(git: &IsolatedGit<'_>, root: &Path, commit: Option<&str>) -> Result<IndexBase, GitError> {
    let (mut is_hiding, mut is_missing) = (false, false);
    for entry in list_index_entries(git, &["-v"])? {
        match entry.as_slice() {
            [b'S', b' ', path @ ..] => {
                let is_there = root.join(OsStr::from_bytes(path)).symlink_metadata().is_ok();
                is_hiding |= is_there;
                is_missing |= !is_there;
            }
            [tag, ..] => is_hiding |= tag.is_ascii_lowercase(),
            [] => {}
        }
    }
    // In a sparse checkout, missing files do not count as removed.
    let is_hiding = is_hiding || is_missing && !is_sparse_checkout(git)?;
    Ok(if is_hiding { IndexBase::Commit(commit.map(str::to_owned)) } else { IndexBase::UserIndex })
}

fn is_sparse_checkout(git: &IsolatedGit<'_>) -> Result<bool, GitError> {
    let answer = git.run_with_input(&["config", "--type=bool", "--get", "core.sparseCheckout"], &[])?;
    // Exit code 1: the setting is not set.
    if answer.code == Some(1) { Ok(false) } else { Ok(answer.into_stdout()? == b"true\n") }
}

impl IndexBase {
    /// Fills the temporary index in `folder`. `index` is the index of the user.
    pub(super) fn fill_index(
        &self,
        git: &IsolatedGit<'_>,
        folder: &TemporaryFolder,
        index: &Path,
    ) -> Result<(), GitError> {
        match self {
            Self::UserIndex if index.is_file() => {
                copy_index(index, &folder.path.join("index")).map_err(|source| folder.to_git_error(source))?;
            }
            Self::Commit(Some(commit)) => drop(git.read_stdout(&["read-tree", commit])?),
            Self::UserIndex | Self::Commit(None) => {}
        }
        Ok(())
    }
}

/// Copies an index with its modification time. Git uses that time to find files that changed in the same second in
/// which the index was written, and reads them again.
fn copy_index(index: &Path, copy: &Path) -> io::Result<()> {
    std::fs::copy(index, copy)?;
    File::options().write(true).open(copy)?.set_modified(index.metadata()?.modified()?)
}

/// Adds all files to the index. Returns git's error message about files that it could not add: an unreadable file, or a
/// nested repository without a commit, does not prevent the others from being added.
pub(super) fn add_all_files(git: &IsolatedGit<'_>) -> Result<Option<String>, GitError> {
    let add = ["-c", "advice.addEmbeddedRepo=false", "add", "--all"];
    let Err(refused) = git.read_stdout(&add) else { return Ok(None) };
    match git.read_stdout(&[&add[..], &["--ignore-errors"]].concat()) {
        Ok(_) => Ok(None),
        Err(GitError::Failed { stderr, .. }) => Ok(Some(stderr)),
        Err(
            GitError::NotStarted { .. }
            | GitError::TimedOut { .. }
            | GitError::Stopped { .. }
            | GitError::CreateFolder { .. },
        ) => Err(refused),
    }
}

/// Hashes the files of a work tree with a temporary index and object folder. Returns the tree and git's message about
/// files that it could not add.
fn hash_worktree(root: &Path, index_base: &IndexBase) -> Result<(String, Option<String>), GitError> {
    let folder = TemporaryFolder::create("tree")?;
    let git = IsolatedGit::in_folder(root);
    let (index, objects) = (git.git_path("index")?, git.git_path("objects")?);
    let git = git
        .with_long_timeout()
        .with_env("GIT_INDEX_FILE", folder.path.join("index"))
        .with_env("GIT_OBJECT_DIRECTORY", folder.path.join("objects"))
        .with_env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
    std::fs::create_dir(folder.path.join("objects")).map_err(|source| folder.to_git_error(source))?;
    index_base.fill_index(&git, &folder, &index)?;
    let left_out = add_all_files(&git)?;
    Ok((git.read_line(&["write-tree"])?, left_out))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git::testing::{commit_all, new_repository};

    // spec: V14
    #[test]
    fn a_clean_work_tree_has_the_tree_of_its_commit() {
        let (_temp, root) = new_repository();
        let commit = commit_all(&root);
        let seen = take_snapshot(&root).unwrap();
        assert_eq!(seen.commit.as_deref(), Some(commit.as_str()));
        assert!(seen.is_committed);
        assert_eq!(find_commit_with_tree(&root, &seen.tree).unwrap(), Some(commit));
        assert_eq!(find_commit_with_tree(&root, &"0".repeat(40)).unwrap(), None);
    }

    // spec: V14
    #[test]
    fn uncommitted_work_has_the_tree_that_its_commit_would_have() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        fs::write(root.join("new"), "file").unwrap();
        fs::write(root.join("file"), "changed").unwrap();
        let before = fs::read(root.join(".git/index")).unwrap();
        let seen = take_snapshot(&root).unwrap();
        assert!(!seen.is_committed);
        assert_eq!(fs::read(root.join(".git/index")).unwrap(), before, "the user's index stays as it is");
        let commit = commit_all(&root);
        assert_eq!(find_commit_with_tree(&root, &seen.tree).unwrap(), Some(commit));
        assert!(take_snapshot(&root).unwrap().is_committed);
    }

    // spec: V14, V11
    #[test]
    fn a_change_hidden_from_git_is_detected() {
        for (hide, unhide) in
            [("--assume-unchanged", "--no-assume-unchanged"), ("--skip-worktree", "--no-skip-worktree")]
        {
            let (_temp, root) = new_repository();
            commit_all(&root);
            let first = take_snapshot(&root).unwrap();
            IsolatedGit::in_folder(&root).read_stdout(&["update-index", hide, "file"]).unwrap();
            assert_eq!(take_snapshot(&root).unwrap(), first);
            fs::write(root.join("file"), "made weaker").unwrap();
            let weaker = take_snapshot(&root).unwrap();
            assert!(!weaker.is_committed && weaker.tree != first.tree, "{hide}");
            IsolatedGit::in_folder(&root).read_stdout(&["update-index", unhide, "file"]).unwrap();
            assert_eq!(take_snapshot(&root).unwrap(), weaker);
            IsolatedGit::in_folder(&root).read_stdout(&["update-index", hide, "file"]).unwrap();
            fs::remove_file(root.join("file")).unwrap();
            let gone = take_snapshot(&root).unwrap();
            assert!(!gone.is_committed && gone.tree != first.tree, "{hide}");
        }
    }

    // spec: V14
    #[test]
    fn a_sparse_checkout_counts_as_committed() {
        let (_temp, root) = new_repository();
        fs::create_dir(root.join("far")).unwrap();
        fs::write(root.join("far/a"), "").unwrap();
        commit_all(&root);
        IsolatedGit::in_folder(&root).read_stdout(&["sparse-checkout", "set", "near"]).unwrap();
        assert!(!root.join("far/a").exists());
        assert!(take_snapshot(&root).unwrap().is_committed);
        assert_eq!(complete_tree_hash(&root).unwrap(), None, "the missing files are not covered");
    }

    // spec: V14, V11
    // fault: 76
    #[test]
    fn a_change_in_the_same_second_as_the_index_is_detected() {
        let (_temp, root) = new_repository();
        IsolatedGit::in_folder(&root).read_stdout(&["config", "core.trustctime", "false"]).unwrap();
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let set_time = |name: &str| {
            File::options().write(true).open(root.join(name)).unwrap().set_modified(at).unwrap();
        };
        fs::write(root.join("file"), "good").unwrap();
        set_time("file");
        commit_all(&root);
        let first = take_snapshot(&root).unwrap();
        fs::write(root.join("file"), "evil").unwrap();
        set_time("file");
        set_time(".git/index");
        let seen = take_snapshot(&root).unwrap();
        assert!(!seen.is_committed && seen.tree != first.tree);
    }

    // spec: V14, V11
    #[test]
    fn new_files_are_detected_whatever_the_settings_are() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        let first = take_snapshot(&root).unwrap();
        IsolatedGit::in_folder(&root).read_stdout(&["config", "status.showUntrackedFiles", "no"]).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/leftover"), "").unwrap();
        let seen = take_snapshot(&root).unwrap();
        assert!(!seen.is_committed && seen.tree != first.tree);
    }

    // spec: V14, V11
    #[test]
    fn nested_repositories_are_reported_or_make_the_tree_incomplete() {
        let (_temp, root) = new_repository();
        commit_all(&root);
        let tree = take_snapshot(&root).unwrap().tree;
        assert_eq!(complete_tree_hash(&root).unwrap(), Some(tree.clone()));
        let inner = root.join("inner");
        fs::create_dir(&inner).unwrap();
        IsolatedGit::in_folder(&inner).read_stdout(&["init", "--quiet"]).unwrap();
        fs::write(inner.join("work"), "").unwrap();
        let seen = take_snapshot(&root).unwrap();
        assert_eq!((seen.is_committed, &seen.tree), (false, &tree));
        assert!(seen.left_out.is_some_and(|message| message.contains("inner/")));
        assert_eq!(complete_tree_hash(&root).unwrap(), None);
        commit_all(&inner);
        assert_eq!(take_snapshot(&root).unwrap().left_out, None);
        assert_eq!(complete_tree_hash(&root).unwrap(), None);
        commit_all(&root);
        fs::write(inner.join("work"), "more").unwrap();
        assert_eq!(complete_tree_hash(&root).unwrap(), None, "changes of its files are not covered");
    }

    // spec: V14
    #[test]
    fn an_empty_repository_and_ignored_files_are_supported() {
        let (_temp, root) = new_repository();
        fs::write(root.join(".gitignore"), "out\n").unwrap();
        let seen = take_snapshot(&root).unwrap();
        assert_eq!((seen.commit.as_deref(), seen.is_committed), (None, false));
        fs::write(root.join("out"), "built").unwrap();
        assert_eq!(take_snapshot(&root).unwrap(), seen);
    }
}
