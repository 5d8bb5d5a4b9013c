//! The notes of a run: a file in which an agent that remembers nothing tells the next one what it must know. Its words
//! are data; nothing here understands them.
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use ralph_core::prompt::MAX_NOTES_BYTES;

use ralph_util::private_files;

/// Names the variable by which agents find the file.
pub const NOTES_ENV_VAR: &str = "NOTES_FILE";

/// Makes the file where it is missing. What stands in it stays.
pub(super) fn create_if_missing(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_files::ensure_folder(folder)?.write_gitignore()?;
    }
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => private_files::open_for_append(path).map(drop),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the end of the notes: somewhat more than a prompt carries, so that a cut can be seen.
pub(super) fn read_tail(path: &Path) -> io::Result<String> {
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
