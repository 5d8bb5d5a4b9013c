//! The file in which some agents leave what they have used, because their output does not tell it. Of an earlier start
//! nothing is ever read, and the file goes when it was read.
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use ralph_util::private_files;

/// Its name in the folder of the run.
const USAGE_FILE_NAME: &str = "usage.json";

/// No agent writes more.
const MAX_USAGE_FILE_BYTES: u64 = 1 << 20;

/// Returns the file for the agents of a run.
pub(super) fn path_in_run_folder(folder: &Path) -> PathBuf {
    folder.join(USAGE_FILE_NAME)
}

/// Takes away what an earlier start left, and sees that there is a place for a new one.
pub(super) fn remove_stale(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_files::ensure_folder(folder)?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns what the agent left, and takes it away. An agent that was stopped may have left nothing.
pub(super) fn take_contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    match private_files::open_regular_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(text),
        opened => opened?.take(MAX_USAGE_FILE_BYTES).read_to_end(&mut text)?,
    };
    fs::remove_file(path)?;
    Ok(text)
}
