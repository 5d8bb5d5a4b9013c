//! The canonical text and the hash of a receipt, and its copy in the folder of the run.
use std::io::{self, Read, Write};
use std::path::Path;

use ralph_core::criterion::Criterion;
use ralph_core::receipt::Receipt;
use serde::Serialize;

use ralph_util::digest::sha256_hex;
use ralph_util::private_files;
use ralph_util::redact;

/// The readable copy of the receipt in the folder of the run.
pub const RECEIPT_FILE_NAME: &str = "receipt.json";

/// ralph never writes a longer receipt.
const MAX_RECEIPT_BYTES: u64 = 64 * 1024 * 1024;

/// A receipt with its hash.
#[derive(Debug, Clone, PartialEq)]
pub struct HashedReceipt {
    pub receipt: Receipt,
    pub sha256: String,
}

/// Removes secrets from a receipt and returns it with its hash.
pub fn hash_receipt(receipt: &Receipt) -> serde_json::Result<HashedReceipt> {
    let text = canonical_json(receipt)?;
    let receipt = serde_json::from_str(&redact::redact_text(&text))?;
    Ok(HashedReceipt { sha256: sha256_hex(canonical_json(&receipt)?), receipt })
}

/// Returns the hash of criteria after redaction, so that it does not depend on secrets.
pub fn hash_criteria(criteria: &[Criterion]) -> serde_json::Result<String> {
    Ok(sha256_hex(redact::redact_text(&canonical_json(criteria)?).as_bytes()))
}

/// Returns a value as canonical JSON: without spaces, keys sorted by their bytes.
pub fn canonical_json(value: &(impl Serialize + ?Sized)) -> serde_json::Result<String> {
    Ok(serde_json::to_value(value)?.to_string())
}

/// Writes the readable copy into the folder of the run and replaces an existing one.
pub fn write_receipt_copy(folder: &Path, receipt: &Receipt) -> io::Result<()> {
    let run_folder = private_files::open_folder(folder)?;
    match std::fs::remove_file(folder.join(RECEIPT_FILE_NAME)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut text = serde_json::to_vec_pretty(receipt)?;
    text.push(b'\n');
    run_folder.create_new_file(RECEIPT_FILE_NAME)?.write_all(&text)
}

/// The state of the readable copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptCopy {
    Matches,
    /// Its content differs from the stored receipt, or it cannot be read.
    Differs,
    Missing,
}

/// Compares the readable copy with the stored receipt.
#[must_use]
pub fn compare_receipt_copy(folder: &Path, stored: &Receipt) -> ReceiptCopy {
    let mut text = String::new();
    match private_files::open_regular_file(&folder.join(RECEIPT_FILE_NAME)) {
        Ok(file) => match file.take(MAX_RECEIPT_BYTES).read_to_string(&mut text) {
            Ok(_) if is_same_receipt(&text, stored) => ReceiptCopy::Matches,
            Ok(_) | Err(_) => ReceiptCopy::Differs,
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => ReceiptCopy::Missing,
        Err(_) => ReceiptCopy::Differs,
    }
}

/// Returns whether a text is exactly this receipt, without additions or omissions.
fn is_same_receipt(text: &str, stored: &Receipt) -> bool {
    let found = serde_json::from_str::<serde_json::Value>(text);
    found.is_ok_and(|found| serde_json::to_value(stored).is_ok_and(|stored| stored == found))
}
