//! Calls to the git program. It never cleans, resets or deletes anything of the user's.
mod changes;
mod checkout;
mod commit_tree;
mod head_file;
mod ignored;
mod keep;
mod linked;
mod merge;
mod plain;
mod position;
mod refs;
mod settings;
mod snapshot;
mod temporary;
#[cfg(test)]
pub(crate) mod testing;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use plain::Plain;

use ralph_process::{Bounded, run_bounded};
use ralph_util::duration;
use ralph_util::fail;

pub use changes::{
    Change, ChangeKind, change_files, change_index, changes, difference, index_differences, restore_files,
    uncommitted, uncommitted_bytes,
};
pub use checkout::{Checkout, CheckoutError};
pub use commit_tree::{Author, NewCommit, commit_tree, same_tree};
pub use head_file::peek_at_head;
pub use ignored::not_ignored;
pub use keep::{Kept, keep, keep_files};
pub use linked::{
    Linked, add_linked, finish_linked, linked, lock_linked, own_file, reconnect_linked, remove_linked,
    repository_of,
};
pub use merge::{Merge, is_ancestor, merge};
pub use plain::ELSEWHERE;
pub use position::position;
pub use refs::{
    FoundRef, RefChange, Was, branch_of, change_refs, commit_at, detach_at, move_head, object_at, refs_below,
    refs_not_in,
};
pub use settings::deciding_settings;
pub use snapshot::{commit_with_tree, committed, snapshot, telling_tree, trees_since};

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git could not be started")]
    NotStarted { source: io::Error },
    #[error("`git {command}` failed: {stderr}")]
    Failed { command: String, stderr: String },
    #[error("`git {command}` did not end within {} and was killed: is something waiting for a lock, a filter or a disk?", duration::show(*time))]
    TimeOver { command: String, time: Duration },
    #[error("`git {command}` was stopped with the run")]
    Halted { command: String },
    #[error("the folder {} that git needs cannot be made", path.display())]
    Folder { path: PathBuf, source: io::Error },
}

/// Runs git in a folder and returns what it printed.
pub fn git(folder: &Path, args: &[&str]) -> Result<String, GitError> {
    let args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    Ok(String::from_utf8_lossy(&printed(folder, &args)?).into_owned())
}

/// Returns the root of the work tree around a folder.
pub fn work_tree(folder: &Path) -> Result<PathBuf, GitError> {
    let mut path = printed(folder, &["rev-parse".as_ref(), "--show-toplevel".as_ref()])?;
    path.truncate(path.trim_ascii_end().len());
    Ok(OsString::from_vec(path).into())
}

/// Returns the commit that a work tree stands on, if it stands on one.
pub fn head(folder: &Path) -> Result<Option<String>, GitError> {
    match Plain::at(folder).line(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]) {
        Ok(commit) => Ok(Some(commit)),
        // There is nothing to complain about: nothing was ever committed.
        Err(GitError::Failed { stderr, .. }) if stderr.is_empty() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Tells whether a path belongs to what the repository holds.
pub fn is_tracked(folder: &Path, path: &Path) -> Result<bool, GitError> {
    let args = ["ls-files".as_ref(), "-z".as_ref(), "--".as_ref(), path.as_os_str()];
    Ok(!printed(folder, &args)?.is_empty())
}

fn printed(folder: &Path, args: &[&OsStr]) -> Result<Vec<u8>, GitError> {
    finished(Command::new("git").current_dir(folder).args(plain::SAFE), args, PATIENCE)
}

/// How long git may take to look at something. Where it moves much data, it may take longer.
const PATIENCE: Duration = Duration::from_secs(60);
const LONG_PATIENCE: Duration = Duration::from_secs(600);

/// What a call to git came to.
struct Printed {
    /// The call, as people read it.
    call: String,
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

impl Printed {
    /// Returns what was printed, if all went well.
    fn success(self) -> Result<Vec<u8>, GitError> {
        if self.code == Some(0) { Ok(self.stdout) } else { Err(self.failed()) }
    }

    fn failed(self) -> GitError {
        GitError::Failed { command: self.call, stderr: self.stderr }
    }
}

/// Runs a prepared call to its end. One that hangs must not hang the run.
fn ended(command: &mut Command, args: &[&OsStr], input: Stdio, time: Duration) -> Result<Printed, GitError> {
    let time = fail::patience(time);
    let call = args.join(OsStr::new(" ")).to_string_lossy().into_owned();
    match run_bounded(command.args(args), input, time).map_err(|source| GitError::NotStarted { source })? {
        Bounded::Ended { status, stdout, stderr } => {
            let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
            Ok(Printed { call, code: status.code(), stdout, stderr })
        }
        Bounded::TimeOver => Err(GitError::TimeOver { command: call, time }),
        Bounded::Halted => Err(GitError::Halted { command: call }),
    }
}

fn finished(command: &mut Command, args: &[&OsStr], time: Duration) -> Result<Vec<u8>, GitError> {
    ended(command, args, Stdio::null(), time)?.success()
}
