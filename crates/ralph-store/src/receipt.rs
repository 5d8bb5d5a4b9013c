//! Receipts as text: one form for each, and the hash that tells it from every other.
use std::io::{self, Read, Write};
use std::path::Path;

use ralph_core::criterion::Criterion;
use ralph_core::receipt::Receipt;
use serde::Serialize;

use ralph_util::digest::sha256;
use ralph_util::private;
use ralph_util::redact;

/// The copy for people, in the folder of the run.
pub const FILE: &str = "receipt.json";

/// A file longer than this is none of ours.
const LONGEST: u64 = 64 * 1024 * 1024;

/// A receipt with its hash.
#[derive(Debug, Clone, PartialEq)]
pub struct Sealed {
    pub receipt: Receipt,
    pub sha256: String,
}

/// Removes secrets from a receipt, and seals it.
pub fn seal(receipt: &Receipt) -> serde_json::Result<Sealed> {
    let text = canonical(receipt)?;
    let receipt = serde_json::from_str(&redact::text(&text))?;
    Ok(Sealed { sha256: sha256(canonical(&receipt)?), receipt })
}

/// Returns the hash of criteria. Secrets in them do not count.
pub fn criteria_sha256(criteria: &[Criterion]) -> serde_json::Result<String> {
    Ok(sha256(redact::text(&canonical(criteria)?).as_bytes()))
}

/// Writes a value as JSON in one form: without spaces, keys in the order of their bytes.
pub fn canonical(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    Ok(serde_json::to_value(value)?.to_string())
}

/// Puts the copy for people into the folder of the run, whatever was there before.
pub fn write(folder: &Path, receipt: &Receipt) -> io::Result<()> {
    let held = private::existing_folder(folder)?;
    match std::fs::remove_file(folder.join(FILE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut text = serde_json::to_vec_pretty(receipt)?;
    text.push(b'\n');
    held.new_file(FILE)?.write_all(&text)
}

/// What lies where the copy for people should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copy {
    Same,
    /// It says something else than the receipt that is stored.
    Other,
    Missing,
}

/// Holds the copy for people against the stored receipt.
#[must_use]
pub fn compare(folder: &Path, stored: &Receipt) -> Copy {
    let mut text = String::new();
    match private::regular_file(&folder.join(FILE)) {
        Ok(file) => match file.take(LONGEST).read_to_string(&mut text) {
            Ok(_) if is_same(&text, stored) => Copy::Same,
            Ok(_) | Err(_) => Copy::Other,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Copy::Missing,
        Err(_) => Copy::Other,
    }
}

/// Tells whether a text is this receipt, with nothing added and nothing left out.
fn is_same(text: &str, stored: &Receipt) -> bool {
    let found = serde_json::from_str::<serde_json::Value>(text);
    found.is_ok_and(|found| serde_json::to_value(stored).is_ok_and(|stored| stored == found))
}
