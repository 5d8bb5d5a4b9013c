//! The file to which some agents write their usage because their output does not report it. It is removed before every
//! start and after it was read, so that no attempt reads the usage of another one.
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use ralph_util::private_files;

const USAGE_FILE_NAME: &str = "usage.json";

const MAX_USAGE_FILE_BYTES: u64 = 1 << 20;

pub(in crate::run_driver) fn path_in_run_folder(folder: &Path) -> PathBuf {
    folder.join(USAGE_FILE_NAME)
}

/// Removes the file of an earlier attempt, and creates its folder if that is missing.
pub(in crate::run_driver) fn remove_stale(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_files::ensure_folder(folder)?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Reads and removes the file. Returns nothing if it is missing, as after an agent that was stopped.
pub(in crate::run_driver) fn take_contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    match private_files::open_regular_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(text),
        opened => opened?.take(MAX_USAGE_FILE_BYTES).read_to_end(&mut text)?,
    };
    fs::remove_file(path)?;
    Ok(text)
}
