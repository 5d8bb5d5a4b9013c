//! What the checks of a loop have said that passed. Each stop is answered by a process of its own, so it is kept in a file
//! between two of them; what another loop left there is not known.
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::verify::{Cache, Known};
use ralph_util::private;
use ralph_util::redact;

/// More than this was not written by ralph.
const LONGEST: u64 = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Kept {
    /// The loop that it was seen for.
    id: String,
    known: Known,
}

/// Returns what a loop knows.
pub(super) fn read(file: &Path, id: &str) -> Cache {
    let kept = kept(file).filter(|kept| kept.id == id);
    Cache::of(kept.map(|kept| kept.known).unwrap_or_default())
}

/// Keeps what a loop knows. What cannot be kept is looked at again.
pub(super) fn write(file: &Path, id: &str, cache: &Cache) {
    let kept = Kept { id: id.to_owned(), known: cache.known() };
    let Ok(text) = serde_json::to_string(&kept) else { return };
    let draft = file.with_extension("passed-new");
    let _ = std::fs::remove_file(&draft);
    let written = private::file(&draft).and_then(|mut file| file.write_all(redact::text(&text).as_bytes()));
    if written.is_ok() {
        let _ = std::fs::rename(&draft, file);
    }
}

/// Returns the file for a session's loops.
pub(super) fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.passed"))
}

fn kept(file: &Path) -> Option<Kept> {
    let file = private::regular_file(file).ok()?;
    serde_json::from_reader(BufReader::new(file).take(LONGEST)).ok()
}
