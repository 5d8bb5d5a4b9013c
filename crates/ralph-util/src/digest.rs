//! SHA-256, written as people compare it.
use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Returns the hash of some bytes.
#[must_use]
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    finish_hex(Sha256::new_with_prefix(bytes))
}

/// Returns what a hash has come to.
#[must_use]
pub fn finish_hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
