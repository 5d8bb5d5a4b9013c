//! Calls to the git program. It never cleans, resets or deletes anything of the user's.
mod checkout;
mod plain;
mod position;
mod snapshot;
mod temporary;
#[cfg(test)]
mod testing;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use checkout::{Checkout, CheckoutError};
pub use plain::ELSEWHERE;
pub use position::position;
pub use snapshot::{commit_with_tree, snapshot};

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git could not be started")]
    NotStarted { source: io::Error },
    #[error("`git {command}` failed: {stderr}")]
    Failed { command: String, stderr: String },
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
#[must_use]
pub fn head(folder: &Path) -> Option<String> {
    let said = git(folder, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).ok()?;
    Some(said.trim().to_owned()).filter(|commit| !commit.is_empty())
}

/// Tells whether a path belongs to what the repository holds.
pub fn is_tracked(folder: &Path, path: &Path) -> Result<bool, GitError> {
    let args = ["ls-files".as_ref(), "-z".as_ref(), "--".as_ref(), path.as_os_str()];
    Ok(!printed(folder, &args)?.is_empty())
}

fn printed(folder: &Path, args: &[&OsStr]) -> Result<Vec<u8>, GitError> {
    finished(Command::new("git").current_dir(folder), args)
}

/// Runs a prepared call to its end.
fn finished(command: &mut Command, args: &[&OsStr]) -> Result<Vec<u8>, GitError> {
    let output = command.args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|source| GitError::NotStarted { source })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(GitError::Failed { command: args.join(OsStr::new(" ")).to_string_lossy().into_owned(), stderr })
}
