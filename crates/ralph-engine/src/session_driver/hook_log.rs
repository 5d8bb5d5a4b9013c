//! The log of hook errors. It is rotated.
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::session_clock;
use ralph_util::private_files;
use ralph_util::redact;

/// A file of this size is rotated, and the previous old file is deleted.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// The log of errors for which a hook let a session stop.
pub const HOOK_LOG_NAME: &str = "hook.log";

#[derive(Debug, Clone)]
pub struct HookLog {
    folder: PathBuf,
    file_name: String,
}

impl HookLog {
    /// Returns the log of all hooks.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), file_name: HOOK_LOG_NAME.to_owned() }
    }

    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.file_name)
    }

    /// Appends one line of text with the current time.
    pub fn append_line(&self, text: &str) -> io::Result<()> {
        let line = ralph_util::sanitize::sanitize_text(text).replace('\n', " ");
        self.append_text(&format!("{} {line}\n", session_clock::format_timestamp(session_clock::current_moment().at)))
    }

    fn append_text(&self, lines: &str) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let folder = private_files::ensure_folder(&self.folder)?;
        let mut file = folder.open_for_append(&self.file_name)?;
        file.write_all(redact::redact_text(lines).as_bytes())?;
        if file.metadata()?.size() > MAX_LOG_BYTES {
            rustix::fs::renameat(
                &folder,
                self.file_name.as_str(),
                &folder,
                format!("{}.old", self.file_name).as_str(),
            )?;
        }
        Ok(())
    }
}
