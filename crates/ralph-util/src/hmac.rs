//! Signatures with a shared secret: HMAC with SHA-256 (RFC 2104).
use sha2::{Digest, Sha256};

use crate::digest::{finish_hex, sha256_hex};

const BLOCK_BYTES: usize = 64;

/// Returns the signature of a message as lower-case hexadecimal text.
#[must_use]
pub fn sign_hex(secret: &[u8], message: &[u8]) -> String {
    let mut key = [0_u8; BLOCK_BYTES];
    let hashed = Sha256::digest(secret);
    let bytes: &[u8] = if secret.len() > BLOCK_BYTES { hashed.as_slice() } else { secret };
    key.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = *byte);
    let inner = Sha256::new_with_prefix(key.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    finish_hex(Sha256::new_with_prefix(key.map(|byte| byte ^ 0x5c)).chain_update(inner))
}

/// Returns whether two signatures are the same. The time that it takes says nothing about where they differ.
#[must_use]
pub fn is_same_signature(expected: &str, received: &str) -> bool {
    sha256_hex(expected).bytes().zip(sha256_hex(received).bytes()).fold(0, |all, (left, right)| all | (left ^ right))
        == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W9
    #[test]
    fn signatures_are_those_of_the_published_test_vectors() {
        assert_eq!(
            sign_hex(&[0x0b; 20], b"Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            sign_hex(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            sign_hex(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    // spec: W9
    #[test]
    fn a_signature_is_compared_as_a_whole() {
        assert!(is_same_signature("v0=ab12", "v0=ab12"));
        for other in ["", "v0=ab1", "v0=ab13", "v0=ab123", "V0=ab12"] {
            assert!(!is_same_signature("v0=ab12", other), "{other}");
        }
    }
}
