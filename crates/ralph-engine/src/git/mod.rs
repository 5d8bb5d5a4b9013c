//! Runs the git program. It never cleans, resets or deletes files of the user.
mod checkouts;
mod config_text;
mod head_file;
mod index;
mod isolated_git;
mod loose_refs;
mod objects;
mod position;
mod refs;
mod sensitive_settings;
mod temporary_folder;
#[cfg(test)]
pub(crate) mod testing;
mod work_files;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use isolated_git::IsolatedGit;

use ralph_process::{BoundedOutcome, run_bounded};
use ralph_util::duration;
use ralph_util::failpoints;

pub use checkouts::checkout::{CheckoutError, TemporaryCheckout};
pub use checkouts::linked_worktrees::{
    LinkedWorktree, add_worktree, finish_worktree_checkout, git_common_dir, list_worktrees, lock_worktree,
    remove_worktree, repair_worktree, worktree_git_path,
};
pub use head_file::{is_unborn, read_head_file};
pub use index::index_file::{IndexEntry, IndexFile};
pub use isolated_git::REPOSITORY_VARIABLES;
pub use loose_refs::{create_refs, list_ref_folders, read_loose_ref};
pub use objects::commit_tree::{CommitAuthor, NewCommit, commit_tree, have_same_tree};
pub use objects::merge::{MergeResult, is_ancestor, merge_commits};
pub use objects::object_check::{find_forged_object, list_folder_objects};
pub use objects::tree_edit::{
    TreeEntry, edit_tree, list_files, list_ignored_paths, list_tree_entries, read_tree_file, write_object,
};
pub use position::read_position;
pub use refs::{
    ExpectedRef, RefEntry, RefUpdate, current_branch, detach_head, list_refs, list_unmerged_refs, move_detached_head,
    resolve_commit, resolve_object, update_refs,
};
pub use sensitive_settings::read_sensitive_settings;
pub use work_files::changes::{
    TreeDiffEntry, TreeDiffKind, diff_trees, index_differences, render_diff, reset_index, restore_files,
    uncommitted_bytes, uncommitted_files, update_files_and_index,
};
pub use work_files::conversions::{Conversion, keeps_all_bytes, list_converted_files};
pub use work_files::exact_files::{
    ExactFile, ExactFileKind, ListedFiles, list_exact_files, list_untracked_files, open_regular_file,
    read_object_sizes, read_objects, run_both, store_exact_files, store_exact_text, write_exact_tree,
};
pub use work_files::ignored::exclude_ignored;
pub use work_files::snapshot::{complete_tree, find_commit_with_tree, list_trees_since, snapshot_head, take_snapshot};
pub use work_files::worktree_commit::{WorktreeCommit, commit_worktree, write_worktree_tree};
pub use work_files::worktree_listing::{WorktreeListing, list_worktree};

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git could not be started")]
    NotStarted { source: io::Error },
    #[error("`git {command}` failed: {stderr}")]
    Failed { command: String, stderr: String },
    #[error("`git {command}` did not end within {} and was killed: is something waiting for a lock, a filter or a disk?", duration::format_rounded(*time))]
    TimedOut { command: String, time: Duration },
    #[error("`git {command}` was stopped with the run")]
    Stopped { command: String },
    #[error("cannot use the temporary folder {} for git", path.display())]
    CreateFolder { path: PathBuf, source: io::Error },
}

impl GitError {
    /// Returns whether git failed because the index is locked. git exits with 128 after any fatal error, so only the
    /// message tells: it contains the name of the lock file in every language.
    #[must_use]
    pub fn is_index_locked(&self) -> bool {
        matches!(self, Self::Failed { stderr, .. } if stderr.contains("index.lock"))
    }
}

/// Runs git in a folder and returns its stdout.
pub fn run_git(folder: &Path, args: &[&str]) -> Result<String, GitError> {
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    Ok(String::from_utf8_lossy(&run_in_folder(folder, &args)?).into_owned())
}

/// Returns the root of the work tree that contains a folder.
pub fn find_worktree_root(folder: &Path) -> Result<PathBuf, GitError> {
    let mut path = run_in_folder(folder, &["rev-parse".as_ref(), "--show-toplevel".as_ref()])?;
    path.truncate(path.trim_ascii_end().len());
    Ok(OsString::from_vec(path).into())
}

/// Returns the HEAD commit of a work tree; `None` if the branch has no commit yet.
pub fn head_commit(folder: &Path) -> Result<Option<String>, GitError> {
    if is_unborn(folder) {
        return Ok(None);
    }
    match IsolatedGit::in_folder(folder).read_line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]) {
        Ok(commit) => Ok(Some(commit)),
        // Git fails without a message if nothing was ever committed.
        Err(GitError::Failed { stderr, .. }) if stderr.is_empty() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether the repository tracks a path.
pub fn is_tracked(folder: &Path, path: &Path) -> Result<bool, GitError> {
    let args = ["ls-files".as_ref(), "-z".as_ref(), "--".as_ref(), path.as_os_str()];
    Ok(!run_in_folder(folder, &args)?.is_empty())
}

fn run_in_folder(folder: &Path, args: &[&OsStr]) -> Result<Vec<u8>, GitError> {
    run_to_success(Command::new("git").current_dir(folder).args(isolated_git::SAFE_OPTIONS), args, GIT_TIMEOUT)
}

/// The timeout of commands that read little data; the longer one is for commands that move much data.
const GIT_TIMEOUT: Duration = Duration::from_secs(60);
const LONG_GIT_TIMEOUT: Duration = Duration::from_secs(600);

/// The result of a git command.
struct GitOutput {
    /// The arguments, for error messages.
    command_line: String,
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

impl GitOutput {
    /// Returns stdout if git succeeded.
    fn into_stdout(self) -> Result<Vec<u8>, GitError> {
        if self.code == Some(0) { Ok(self.stdout) } else { Err(self.into_error()) }
    }

    fn into_error(self) -> GitError {
        GitError::Failed { command: self.command_line, stderr: self.stderr }
    }
}

/// Runs a prepared command until it exits or times out: a git that hangs must not block the run.
fn run_to_exit(command: &mut Command, args: &[&OsStr], input: Stdio, timeout: Duration) -> Result<GitOutput, GitError> {
    let time = failpoints::git_time_limit(timeout);
    let command_line = args.join(OsStr::new(" ")).to_string_lossy().into_owned();
    match run_bounded(command.args(args), input, time).map_err(|source| GitError::NotStarted { source })? {
        BoundedOutcome::Exited { status, stdout, stderr } => {
            let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
            Ok(GitOutput { command_line, code: status.code(), stdout, stderr })
        }
        BoundedOutcome::TimedOut => Err(GitError::TimedOut { command: command_line, time }),
        BoundedOutcome::Cancelled => Err(GitError::Stopped { command: command_line }),
    }
}

fn run_to_success(command: &mut Command, args: &[&OsStr], timeout: Duration) -> Result<Vec<u8>, GitError> {
    run_to_exit(command, args, Stdio::null(), timeout)?.into_stdout()
}
