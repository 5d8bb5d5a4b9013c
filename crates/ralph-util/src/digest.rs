//! SHA-256 hashes, and bytes as lower-case hexadecimal text.
use sha2::{Digest, Sha256};

/// Returns the SHA-256 hash of the bytes.
#[must_use]
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    finish_hex(Sha256::new_with_prefix(bytes))
}

/// Finishes a hash and returns it as text.
#[must_use]
pub fn finish_hex(hash: Sha256) -> String {
    encode_hex(hash.finalize())
}

/// Returns bytes as text. It does not use the formatter, because an index has the hashes of thousands of files.
#[must_use]
pub fn encode_hex(bytes: impl AsRef<[u8]>) -> String {
    let to_digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 });
    let bytes = bytes.as_ref();
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(to_digit(byte >> 4));
        text.push(to_digit(byte & 15));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        for byte in 0..=u8::MAX {
            assert_eq!(encode_hex([byte]), format!("{byte:02x}"));
        }
        assert_eq!(encode_hex([0, 0xff, 0x1a]), "00ff1a");
    }
}
