//! Calls to the git program. It never cleans, resets or deletes anything.
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git could not be started")]
    NotStarted { source: io::Error },
    #[error("`git {command}` failed: {stderr}")]
    Failed { command: String, stderr: String },
}

/// Runs git in a folder and returns what it printed.
pub fn git(folder: &Path, args: &[&str]) -> Result<String, GitError> {
    let output = Command::new("git").args(args).current_dir(folder).stdin(Stdio::null()).output();
    let output = output.map_err(|source| GitError::NotStarted { source })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(GitError::Failed { command: args.join(" "), stderr })
}
