//! The notes of a run: a file in which an agent leaves information for the next iteration. ralph does not interpret it.
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use ralph_core::prompt::MAX_NOTES_BYTES;

use ralph_util::private_files;

/// The environment variable that has the path of the notes.
pub const NOTES_ENV_VAR: &str = "NOTES_FILE";

/// Creates the file if it is missing. An existing file is not changed.
pub(in crate::run_driver) fn create_if_missing(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_files::ensure_folder(folder)?.write_gitignore()?;
    }
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => private_files::open_for_append(path).map(drop),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the end of the notes: more than a prompt quotes, so that the prompt can show that it is truncated.
pub(in crate::run_driver) fn read_tail(path: &Path) -> io::Result<String> {
    let mut file = match private_files::open_regular_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
        opened => opened?,
    };
    let max_bytes = 2 * MAX_NOTES_BYTES as u64;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(max_bytes)))?;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
