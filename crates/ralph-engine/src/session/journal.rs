//! What was decided about the loops of a session, one fact a line, and what went wrong in hooks. Both are bounded.
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_core::fact::Fact;
use serde_json::json;

use super::clock;
use ralph_util::private;
use ralph_util::redact;

/// A file of this size is put aside, and what was aside before goes.
const FULL: u64 = 4 << 20;

/// Where the reasons are kept for which a hook of ours let a session stop.
pub const LOG: &str = "hook.log";

#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
    name: String,
}

impl Journal {
    pub(super) fn new(folder: &Path, name: String) -> Self {
        Self { folder: folder.to_path_buf(), name }
    }

    /// Returns the log of all hooks.
    #[must_use]
    pub fn of_hooks(folder: &Path) -> Self {
        Self::new(folder, LOG.to_owned())
    }

    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Adds what was decided about a loop.
    pub fn record(&self, id: &str, facts: &[Fact]) -> io::Result<()> {
        let at = clock::written(clock::now().at);
        let line =
            |fact| Ok(format!("{}\n", json!({"at": at, "loop": id, "fact": serde_json::to_value(fact)?})));
        let lines: Result<String, serde_json::Error> = facts.iter().map(line).collect();
        self.append(&lines?)
    }

    /// Adds a line for people.
    pub fn note(&self, words: &str) -> io::Result<()> {
        let words = ralph_util::sanitize::sanitize(words).replace('\n', " ");
        self.append(&format!("{} {words}\n", clock::written(clock::now().at)))
    }

    fn append(&self, lines: &str) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let folder = private::folder(&self.folder)?;
        let mut file = folder.file(&self.name)?;
        file.write_all(redact::text(lines).as_bytes())?;
        if file.metadata()?.size() > FULL {
            rustix::fs::renameat(
                &folder,
                self.name.as_str(),
                &folder,
                format!("{}.old", self.name).as_str(),
            )?;
        }
        Ok(())
    }
}
