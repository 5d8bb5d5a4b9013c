//! The output of a check, as its log has it.
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use ralph_engine::project::Project;
use ralph_store::CheckRow;
use ralph_util::private_files;

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogExcerpt {
    pub text: String,
    /// How many bytes before it are left out.
    pub skipped_bytes: u64,
}

/// Returns at most the last `max_bytes` of the output of a check; `None` if its log does not exist.
#[must_use]
pub fn read_check_log(project: &Project, run: &str, check: &CheckRow, max_bytes: u64) -> Option<LogExcerpt> {
    if check.log_file.is_empty() {
        return None;
    }
    read_end(&project.run_folder(run).join(&check.log_file), max_bytes).ok()
}

fn read_end(path: &Path, max_bytes: u64) -> std::io::Result<LogExcerpt> {
    let mut file = private_files::open_regular_file(path)?;
    let length = file.metadata()?.len();
    let skipped_bytes = length.saturating_sub(max_bytes);
    file.seek(SeekFrom::Start(skipped_bytes))?;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(LogExcerpt { text: String::from_utf8_lossy(&bytes).into_owned(), skipped_bytes })
}
