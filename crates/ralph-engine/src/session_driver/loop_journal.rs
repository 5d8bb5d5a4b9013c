//! The journal of the loops of a session, one fact per line, and the log of hook errors. Both are rotated.
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_core::fact::Fact;
use serde_json::json;

use super::session_clock;
use ralph_util::private_files;
use ralph_util::redact;

/// A file of this size is rotated, and the previous old file is deleted.
const MAX_JOURNAL_BYTES: u64 = 4 << 20;

/// The log of errors for which a hook let a session stop.
pub const HOOK_LOG_NAME: &str = "hook.log";

#[derive(Debug, Clone)]
pub struct LoopJournal {
    folder: PathBuf,
    file_name: String,
}

impl LoopJournal {
    pub(super) fn new(folder: &Path, file_name: String) -> Self {
        Self { folder: folder.to_path_buf(), file_name }
    }

    /// Returns the log of all hooks.
    #[must_use]
    pub fn hook_log(folder: &Path) -> Self {
        Self::new(folder, HOOK_LOG_NAME.to_owned())
    }

    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.file_name)
    }

    /// Appends the facts of a decision about a loop.
    pub fn append_facts(&self, id: &str, facts: &[Fact]) -> io::Result<()> {
        let at = session_clock::format_timestamp(session_clock::current_moment().at);
        let line = |fact| Ok(format!("{}\n", json!({"at": at, "loop": id, "fact": serde_json::to_value(fact)?})));
        let lines: Result<String, serde_json::Error> = facts.iter().map(line).collect();
        self.append_text(&lines?)
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
        if file.metadata()?.size() > MAX_JOURNAL_BYTES {
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
