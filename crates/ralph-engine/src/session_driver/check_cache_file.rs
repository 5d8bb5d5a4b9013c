//! The file with the accepted checks of a verification that does not fit into the time of one hook. A separate process
//! handles each stop, so the results are stored in between. They count only for the same loop, and only if no file has
//! been written since.
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::verify::{AcceptedChecks, CheckCache};
use ralph_util::private_files;
use ralph_util::redact;

/// The maximum size of a cache file; ralph does not write larger ones.
const MAX_CACHE_FILE_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct StoredCheckCache {
    /// The id of the loop.
    id: String,
    known: AcceptedChecks,
    /// The stamps of all files after the checks. Files of earlier versions have none.
    #[serde(default)]
    files: Option<String>,
}

/// Takes the stored results of a loop, if the files are the same. `stamps` reads their present stamps.
pub(super) fn take_cache(file: &Path, id: &str, stamps: impl FnOnce() -> Option<String>) -> CheckCache {
    let stored = read_stored_cache(file).filter(|stored| stored.id == id && stored.files.is_some());
    let _ = std::fs::remove_file(file);
    let unchanged = stored.filter(|stored| stored.files == stamps());
    CheckCache::from_accepted(unchanged.map(|stored| stored.known).unwrap_or_default())
}

/// Stores the results of a loop with the stamps of its files. Errors are ignored: the checks run again then.
pub(super) fn write_cache(file: &Path, id: &str, cache: &CheckCache, stamps: Option<String>) {
    let stored = StoredCheckCache { id: id.to_owned(), known: cache.accepted_checks(), files: stamps };
    let Ok(text) = serde_json::to_string(&stored) else { return };
    let draft = file.with_extension("passed-new");
    let _ = std::fs::remove_file(&draft);
    let written = private_files::open_for_append(&draft)
        .and_then(|mut file| file.write_all(redact::redact_text(&text).as_bytes()));
    if written.is_ok() {
        let _ = std::fs::rename(&draft, file);
    }
}

/// Returns the path of the cache file of a session.
pub(super) fn cache_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.passed"))
}

fn read_stored_cache(file: &Path) -> Option<StoredCheckCache> {
    let file = private_files::open_regular_file(file).ok()?;
    serde_json::from_reader(BufReader::new(file).take(MAX_CACHE_FILE_BYTES)).ok()
}
