//! Hashes the files of a work tree into a tree, with a temporary index that starts from HEAD. Neither flags nor file times
//! in the `.git/index` of the user count, because an agent can forge them.
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use ralph_process::{current_cancel_flag, with_cancel_flag};

use crate::git::index::trusted_index;
use crate::git::isolated_git::IsolatedGit;
use crate::git::temporary_folder::TemporaryFolder;
use crate::git::{GitError, head_commit, head_file};

/// Options that keep the repository's settings from weakening the comparison of files, and the index in one file of
/// version 2.
const INDEX_OPTIONS: &[&str] = &[
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.ignoreStat=false",
    "-c",
    "core.sparseCheckout=false",
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "index.version=2",
    "-c",
    "index.skipHash=false",
    "-c",
    "advice.addEmbeddedRepo=false",
];

/// Where the objects of new files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) enum NewObjects {
    /// They are removed again: only the hash of the tree is needed.
    Discard,
    Keep,
}

/// The files of a work tree as a tree.
pub(in crate::git) struct WorktreeHash {
    pub(in crate::git) head: Option<HeadCommit>,
    pub(in crate::git) tree: String,
    /// Git's message about files that it could not add.
    pub(in crate::git) left_out: Option<String>,
}

pub(in crate::git) struct HeadCommit {
    pub(in crate::git) commit: String,
    pub(in crate::git) tree: String,
}

/// Hashes all files of a work tree except ignored ones that HEAD does not contain.
pub(in crate::git) fn hash_worktree(root: &Path, new_objects: NewObjects) -> Result<WorktreeHash, GitError> {
    hash_worktree_and(root, new_objects, |_, hash| Ok(hash))
}

/// Returns the paths of all files that differ from HEAD.
pub(in crate::git) fn list_changed_paths(root: &Path) -> Result<Vec<String>, GitError> {
    hash_worktree_and(root, NewObjects::Discard, |git, hash| {
        let list: &[&str] = match &hash.head {
            Some(head) if head.tree == hash.tree => return Ok(Vec::new()),
            Some(_) => &["diff-index", "--cached", "--no-renames", "--name-only", "-z", "HEAD"],
            None => &["ls-files", "-z"],
        };
        let listed = git.read_stdout(&[INDEX_OPTIONS, list].concat())?;
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
    })
}

/// Hashes a work tree, and passes the git with the temporary index on.
fn hash_worktree_and<T>(
    root: &Path,
    new_objects: NewObjects,
    use_index: impl FnOnce(&IsolatedGit<'_>, WorktreeHash) -> Result<T, GitError>,
) -> Result<T, GitError> {
    let folder = TemporaryFolder::create("tree")?;
    let index = folder.path.join("index");
    let git = IsolatedGit::in_folder(root).with_long_timeout().with_env("GIT_INDEX_FILE", &index);
    // Both only read the repository. A stop of the run cancels both.
    let cancel_flag = current_cancel_flag();
    let (repository, filled) = std::thread::scope(|scope| {
        let repository = scope.spawn(|| match cancel_flag {
            Some(cancel_flag) => with_cancel_flag(cancel_flag, || RepositoryPosition::read(root)),
            None => RepositoryPosition::read(root),
        });
        let filled = fill_index(&git, root, &folder);
        (repository.join(), filled)
    });
    let repository = repository.unwrap_or_else(|_| RepositoryPosition::read(root))?;
    if repository.head.is_some() {
        filled?;
    }
    if is_sparse_checkout(root)? {
        keep_missing_sparse_files(&git, root)?;
    }
    let git = match new_objects {
        NewObjects::Keep => git,
        NewObjects::Discard => {
            let objects = folder.path.join("objects");
            std::fs::create_dir(&objects).map_err(|source| folder.to_git_error(source))?;
            git.with_env("GIT_OBJECT_DIRECTORY", objects)
                .with_env("GIT_ALTERNATE_OBJECT_DIRECTORIES", repository.objects)
        }
    };
    let added = add_all_files(&git)?;
    let left_out = added.left_out;
    let tree = match &repository.head {
        Some(head) if added.is_unchanged => head.tree.clone(),
        Some(_) | None => git.read_line(&[INDEX_OPTIONS, &["write-tree"]].concat())?,
    };
    trusted_index::remember_index(root, &index);
    use_index(&git, WorktreeHash { head: repository.head, tree, left_out })
}

/// Fills the temporary index with HEAD. Files that the last snapshot of this process has read, and that have not been
/// changed since, are not read again.
fn fill_index(git: &IsolatedGit<'_>, root: &Path, folder: &TemporaryFolder) -> Result<(), GitError> {
    let index = folder.path.join("index");
    let is_known = trusted_index::restore_index(root, &index).map_err(|source| folder.to_git_error(source))?;
    // `-i`: the entries are not compared with the work tree yet.
    let merge = [INDEX_OPTIONS, &["read-tree", "-m", "-i", "HEAD"]].concat();
    if is_known && git.read_stdout(&merge).is_ok() {
        return Ok(());
    }
    trusted_index::forget_index(root);
    let _ = std::fs::remove_file(&index);
    git.read_stdout(&[INDEX_OPTIONS, &["read-tree", "HEAD"]].concat()).map(drop)
}

/// HEAD and the object folder of a repository.
struct RepositoryPosition {
    head: Option<HeadCommit>,
    objects: PathBuf,
}

impl RepositoryPosition {
    fn read(root: &Path) -> Result<Self, GitError> {
        let git = IsolatedGit::in_folder(root);
        let args = ["rev-parse", "--path-format=absolute", "HEAD^{commit}", "HEAD^{tree}", "--git-path", "objects"];
        let read = git.read_stdout(&args);
        let lines = read.as_ref().ok().and_then(|output| {
            let mut lines = output.splitn(3, |byte| *byte == b'\n');
            Some((lines.next()?, lines.next()?, lines.next()?))
        });
        if let Some((commit, tree, objects)) = lines {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let objects = objects.strip_suffix(b"\n").unwrap_or(objects).to_vec();
            let head = Some(HeadCommit { commit: text(commit), tree: text(tree) });
            return Ok(Self { head, objects: std::ffi::OsString::from_vec(objects).into() });
        }
        match head_commit(root)? {
            None => Ok(Self { head: None, objects: git.git_path("objects")? }),
            Some(_) => read.and(Err(GitError::Failed {
                command: "rev-parse".to_owned(),
                stderr: "the output has an unknown form".to_owned(),
            })),
        }
    }
}

struct AddedFiles {
    /// Whether git added and removed nothing, so that the index still has the tree of HEAD.
    is_unchanged: bool,
    /// Git's error message about files that it could not add: an unreadable file, or a nested repository without a commit, does
    /// not prevent the others from being added.
    left_out: Option<String>,
}

/// Adds all files to the index.
fn add_all_files(git: &IsolatedGit<'_>) -> Result<AddedFiles, GitError> {
    // Git names every file whose entry changes.
    let add = [INDEX_OPTIONS, &["add", "--all", "--verbose"]].concat();
    let refused = match git.read_stdout(&add) {
        Ok(names) => return Ok(AddedFiles { is_unchanged: names.is_empty(), left_out: None }),
        Err(refused) => refused,
    };
    match git.read_stdout(&[&add[..], &["--ignore-errors"]].concat()) {
        Ok(_) => Ok(AddedFiles { is_unchanged: false, left_out: None }),
        Err(GitError::Failed { stderr, .. }) => Ok(AddedFiles { is_unchanged: false, left_out: Some(stderr) }),
        Err(
            GitError::NotStarted { .. }
            | GitError::TimedOut { .. }
            | GitError::Stopped { .. }
            | GitError::CreateFolder { .. },
        ) => Err(refused),
    }
}

/// Returns whether the work tree is a sparse checkout. Git ignores the setting if the file with patterns is missing.
fn is_sparse_checkout(root: &Path) -> Result<bool, GitError> {
    let patterns = head_file::find_git_dir(root).map(|folder| folder.join("info/sparse-checkout"));
    if patterns.is_some_and(|file| file.symlink_metadata().is_err()) {
        return Ok(false);
    }
    let args = ["config", "--type=bool", "--get", "core.sparseCheckout"];
    let answer = IsolatedGit::in_folder(root).run_with_input(&args, &[])?;
    // Exit code 1: the setting is not set.
    if answer.code == Some(1) { Ok(false) } else { Ok(answer.into_stdout()? == b"true\n") }
}

/// Marks files that a sparse checkout leaves out, so that they do not count as removed.
fn keep_missing_sparse_files(git: &IsolatedGit<'_>, root: &Path) -> Result<(), GitError> {
    let listed = list_index_entries(git, &[])?;
    let in_head: BTreeSet<&[u8]> = listed.iter().map(Vec::as_slice).collect();
    let of_user = list_index_entries(&IsolatedGit::in_folder(root), &["-v"])?;
    let is_missing = |path: &&[u8]| root.join(OsStr::from_bytes(path)).symlink_metadata().is_err();
    let skipped = of_user.iter().filter_map(|entry| entry.strip_prefix(b"S ")).filter(|path| in_head.contains(path));
    let paths: Vec<u8> = skipped.filter(is_missing).flat_map(|path| [path, b"\0"].concat()).collect();
    if paths.is_empty() {
        return Ok(());
    }
    let skip = [INDEX_OPTIONS, &["update-index", "--skip-worktree", "-z", "--stdin"]].concat();
    git.read_stdout_with_input(&skip, &paths).map(drop)
}

pub(in crate::git) fn list_index_entries(git: &IsolatedGit<'_>, options: &[&str]) -> Result<Vec<Vec<u8>>, GitError> {
    let listed = git.read_stdout(&[&["ls-files", "-z"], options].concat())?;
    Ok(listed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(<[u8]>::to_vec).collect())
}
