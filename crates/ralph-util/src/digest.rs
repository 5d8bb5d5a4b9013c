//! SHA-256 hashes as lower-case hexadecimal text.
use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Returns the SHA-256 hash of the bytes.
#[must_use]
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    finish_hex(Sha256::new_with_prefix(bytes))
}

/// Finishes a hash and returns it as text.
#[must_use]
pub fn finish_hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
