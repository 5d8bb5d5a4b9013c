//! What a work tree holds at this moment, by the hash of its tree. It changes nothing: what was never added is hashed into
//! a folder of its own.
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ralph_core::receipt::WorkTreeSnapshot;

use super::GitError;
use super::isolated_git::IsolatedGit;
use super::temporary_folder::TemporaryFolder;

/// Looks at the work tree: the commit that it stands on, and all its files but the ignored ones.
pub fn take_snapshot(root: &Path) -> Result<WorkTreeSnapshot, GitError> {
    let WorktreeStatus { commit, committed_tree: committed, is_clean, index_base: known } = read_worktree_status(root)?;
    let (tree, left_out) = match &committed {
        Some(tree) if is_clean => (tree.clone(), None),
        Some(_) | None => hash_worktree(root, &known)?,
    };
    let is_committed = committed.as_ref() == Some(&tree) && left_out.is_none();
    Ok(WorkTreeSnapshot { is_committed, commit, tree, left_out })
}

/// Returns the hash of the tree, if it tells of every file that is not ignored: there are no repositories in it, whose files are
/// their own business, and no file is meant to be missing.
pub fn complete_tree_hash(root: &Path) -> Result<Option<String>, GitError> {
    let WorkTreeSnapshot { tree, left_out, .. } = take_snapshot(root)?;
    let git = IsolatedGit::in_folder(root);
    let is_told = left_out.is_none()
        && !list_index_entries(&git, &["-v"])?.iter().any(|entry| entry.starts_with(b"S "))
        && !has_nested_repositories(&git, root)?;
    Ok(is_told.then_some(tree))
}

/// Tells whether there are repositories below a work tree that its index or nobody knows.
fn has_nested_repositories(git: &IsolatedGit<'_>, root: &Path) -> Result<bool, GitError> {
    let is_link = |entry: &Vec<u8>| entry.starts_with(b"160000 ");
    if list_index_entries(git, &["--stage"])?.iter().any(is_link) {
        return Ok(true);
    }
    // Git names a repository that it does not know by its folder, and never what is in it.
    let others = list_index_entries(git, &["--others", "--exclude-standard"])?;
    let is_repository = |path: &Vec<u8>| root.join(OsStr::from_bytes(path)).join(".git").symlink_metadata().is_ok();
    Ok(others.iter().filter(|path| path.ends_with(b"/")).any(is_repository))
}

fn list_index_entries(git: &IsolatedGit<'_>, options: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
    let listed = git.read_stdout(&[&["ls-files", "-z"], options].concat())?;
    Ok(listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(<[u8]>::to_vec).collect())
}

/// Where a work tree stands, and whether there is more in it than that.
pub(super) struct WorktreeStatus {
    pub(super) commit: Option<String>,
    /// The tree of the commit.
    pub(super) committed_tree: Option<String>,
    pub(super) is_clean: bool,
    pub(super) index_base: IndexBase,
}

/// Whatever the settings say, new files and changed repositories inside of this one are named.
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
    let committed = match &commit {
        Some(commit) => Some(git.read_line(&["rev-parse", &format!("{commit}^{{tree}}")])?),
        None => None,
    };
    let known = choose_index_base(&git, root, commit.as_deref())?;
    Ok(WorktreeStatus {
        commit,
        committed_tree: committed,
        is_clean: is_clean && known == IndexBase::UserIndex,
        index_base: known,
    })
}

/// Looks at what is committed alone.
pub fn snapshot_head(root: &Path) -> Result<WorkTreeSnapshot, GitError> {
    let git = IsolatedGit::in_folder(root);
    let commit = git.read_line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let tree = git.read_line(&["rev-parse", &format!("{commit}^{{tree}}")])?;
    Ok(WorkTreeSnapshot { commit: Some(commit), tree, is_committed: true, left_out: None })
}

/// Returns a commit whose tree this is, if a branch, a tag or the work tree leads to one.
pub fn find_commit_with_tree(root: &Path, tree: &str) -> Result<Option<String>, GitError> {
    let places = ["--branches", "--tags", "--remotes", "HEAD"];
    let all = IsolatedGit::in_folder(root).read_stdout(&[&["log", "--format=%T %H"][..], &places].concat())?;
    let all = String::from_utf8_lossy(&all).into_owned();
    Ok(all.lines().find_map(|line| line.strip_prefix(tree)?.strip_prefix(' ').map(str::to_owned)))
}

/// Returns the trees of a commit and of all that came since, up to where the work tree stands.
pub fn list_trees_since(root: &Path, base: &str) -> Result<Vec<String>, GitError> {
    let (since, own) = (format!("{base}..HEAD"), format!("{base}^{{tree}}"));
    let all = IsolatedGit::in_folder(root).read_stdout(&["log", "--format=%T", &since])?;
    let all = String::from_utf8_lossy(&all).into_owned();
    let own = IsolatedGit::in_folder(root).read_line(&["rev-parse", "--verify", &own])?;
    Ok(all.lines().map(str::to_owned).chain([own]).collect())
}

/// What git may believe of files without reading them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IndexBase {
    /// What stands in its index.
    UserIndex,
    /// It was told to take some files for unchanged: nothing but what this commit holds.
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
    // In a sparse checkout files are missing that nobody removed.
    let is_hiding = is_hiding || is_missing && !is_sparse_checkout(git)?;
    Ok(if is_hiding { IndexBase::Commit(commit.map(str::to_owned)) } else { IndexBase::UserIndex })
}

fn is_sparse_checkout(git: &IsolatedGit<'_>) -> Result<bool, GitError> {
    let answer = git.run_with_input(&["config", "--type=bool", "--get", "core.sparseCheckout"], &[])?;
    // 1: nobody has set it.
    if answer.code == Some(1) { Ok(false) } else { Ok(answer.into_stdout()? == b"true\n") }
}

impl IndexBase {
    /// Fills an index of our own with what may be believed.
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

/// Git reads a file again, although its times are those that the index has, if it may have changed after the index was written, in
/// the same second: the copy must be as old as the index is.
fn copy_index(index: &Path, copy: &Path) -> io::Result<()> {
    std::fs::copy(index, copy)?;
    File::options().write(true).open(copy)?.set_modified(index.metadata()?.modified()?)
}

/// Takes everything into the index of a call, and returns what git could not take in, in its words. A file that cannot be
/// read, or a repository without a commit, is no reason to lose the others.
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

/// Hashes the files as they lie there, with an index and a place for objects of our own.
fn hash_worktree(root: &Path, index_base: &IndexBase) -> Result<(String, Option<String>), GitError> {
    let own = TemporaryFolder::create("tree")?;
    let git = IsolatedGit::in_folder(root);
    let (index, objects) = (git.git_path("index")?, git.git_path("objects")?);
    let git = git
        .with_long_timeout()
        .with_env("GIT_INDEX_FILE", own.path.join("index"))
        .with_env("GIT_OBJECT_DIRECTORY", own.path.join("objects"))
        .with_env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
    std::fs::create_dir(own.path.join("objects")).map_err(|source| own.to_git_error(source))?;
    index_base.fill_index(&git, &own, &index)?;
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
    fn a_work_tree_that_is_committed_has_the_tree_of_its_commit() {
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
        for (told, again) in
            [("--assume-unchanged", "--no-assume-unchanged"), ("--skip-worktree", "--no-skip-worktree")]
        {
            let (_temp, root) = new_repository();
            commit_all(&root);
            let first = take_snapshot(&root).unwrap();
            IsolatedGit::in_folder(&root).read_stdout(&["update-index", told, "file"]).unwrap();
            assert_eq!(take_snapshot(&root).unwrap(), first);
            fs::write(root.join("file"), "made weaker").unwrap();
            let weaker = take_snapshot(&root).unwrap();
            assert!(!weaker.is_committed && weaker.tree != first.tree, "{told}");
            IsolatedGit::in_folder(&root).read_stdout(&["update-index", again, "file"]).unwrap();
            assert_eq!(take_snapshot(&root).unwrap(), weaker);
            IsolatedGit::in_folder(&root).read_stdout(&["update-index", told, "file"]).unwrap();
            fs::remove_file(root.join("file")).unwrap();
            let gone = take_snapshot(&root).unwrap();
            assert!(!gone.is_committed && gone.tree != first.tree, "{told}");
        }
    }

    // spec: V14
    #[test]
    fn a_sparse_checkout_is_as_it_was_committed() {
        let (_temp, root) = new_repository();
        fs::create_dir(root.join("far")).unwrap();
        fs::write(root.join("far/a"), "").unwrap();
        commit_all(&root);
        IsolatedGit::in_folder(&root).read_stdout(&["sparse-checkout", "set", "near"]).unwrap();
        assert!(!root.join("far/a").exists());
        assert!(take_snapshot(&root).unwrap().is_committed);
        assert_eq!(complete_tree_hash(&root).unwrap(), None, "anybody may have removed what is not there");
    }

    /// Git compares times by the second, and so does whoever is quick.
    // spec: V14, V11
    // fault: 76
    #[test]
    fn a_change_in_the_second_in_which_the_index_was_written_is_seen_later_too() {
        let (_temp, root) = new_repository();
        IsolatedGit::in_folder(&root).read_stdout(&["config", "core.trustctime", "false"]).unwrap();
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        let then = |name: &str| {
            File::options().write(true).open(root.join(name)).unwrap().set_modified(at).unwrap();
        };
        fs::write(root.join("file"), "good").unwrap();
        then("file");
        commit_all(&root);
        let first = take_snapshot(&root).unwrap();
        fs::write(root.join("file"), "evil").unwrap();
        then("file");
        then(".git/index");
        let seen = take_snapshot(&root).unwrap();
        assert!(!seen.is_committed && seen.tree != first.tree);
    }

    // spec: V14, V11
    #[test]
    fn new_files_are_seen_whatever_the_settings_say() {
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
    fn nested_repositories_are_named_or_make_the_tree_incomplete() {
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
        assert!(seen.left_out.is_some_and(|why| why.contains("inner/")));
        assert_eq!(complete_tree_hash(&root).unwrap(), None);
        commit_all(&inner);
        assert_eq!(take_snapshot(&root).unwrap().left_out, None);
        assert_eq!(complete_tree_hash(&root).unwrap(), None);
        commit_all(&root);
        fs::write(inner.join("work"), "more").unwrap();
        assert_eq!(complete_tree_hash(&root).unwrap(), None, "its files may change without a trace");
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
