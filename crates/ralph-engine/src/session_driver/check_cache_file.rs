//! What the checks of a loop have said that passed. Each stop is answered by a process of its own, so it is kept in a file
//! between two of them; what another loop left there is not known.
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::verify::{AcceptedChecks, CheckCache};
use ralph_util::private_files;
use ralph_util::redact;

/// More than this was not written by ralph.
const MAX_CACHE_FILE_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct StoredCheckCache {
    /// The loop that it was seen for.
    id: String,
    known: AcceptedChecks,
}

/// Returns what a loop knows.
pub(super) fn read_cache(file: &Path, id: &str) -> CheckCache {
    let kept = read_stored_cache(file).filter(|kept| kept.id == id);
    CheckCache::from_accepted(kept.map(|kept| kept.known).unwrap_or_default())
}

/// Keeps what a loop knows. What cannot be kept is looked at again.
pub(super) fn write_cache(file: &Path, id: &str, cache: &CheckCache) {
    let kept = StoredCheckCache { id: id.to_owned(), known: cache.accepted_checks() };
    let Ok(text) = serde_json::to_string(&kept) else { return };
    let draft = file.with_extension("passed-new");
    let _ = std::fs::remove_file(&draft);
    let written = private_files::open_for_append(&draft)
        .and_then(|mut file| file.write_all(redact::redact_text(&text).as_bytes()));
    if written.is_ok() {
        let _ = std::fs::rename(&draft, file);
    }
}

/// Returns the file for a session's loops.
pub(super) fn cache_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.passed"))
}

fn read_stored_cache(file: &Path) -> Option<StoredCheckCache> {
    let file = private_files::open_regular_file(file).ok()?;
    serde_json::from_reader(BufReader::new(file).take(MAX_CACHE_FILE_BYTES)).ok()
}
