//! Checksums of stored values (64-bit FNV-1a). They detect accidental changes, not tampering.
//! Hand-written because the algorithm has five lines and its result is stored, so it must never change.

use crate::driver::DriverError;
/// One value in a checksum.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChecksumPart<'a> {
    Text(&'a str),
    Number(i64),
}

/// Returns the checksum of the values in this order.
pub(crate) fn checksum(parts: &[ChecksumPart<'_>]) -> i64 {
    let start = 0xcbf2_9ce4_8422_2325;
    parts
        .iter()
        .fold(start, |state, part| match part {
            // The length makes text that moves from one value to the next change the checksum.
            ChecksumPart::Text(text) => hash_bytes(hash_bytes(state, &text.len().to_le_bytes()), text.as_bytes()),
            ChecksumPart::Number(number) => hash_bytes(state, &number.to_le_bytes()),
        })
        .cast_signed()
}

fn hash_bytes(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Compares the checksum of the values that were read with the stored one, if there is one.
pub(crate) fn verify_checksum(stored: Option<i64>, found: i64, subject: &str) -> Result<(), DriverError> {
    match stored {
        Some(stored) if stored != found => {
            Err(DriverError::unreadable_value(format!("{subject} does not match its checksum")))
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 59
    #[test]
    fn every_changed_bit_changes_the_checksum() {
        let text = "{\"event\":\"run.finished\"}";
        let whole = checksum(&[ChecksumPart::Text(text), ChecksumPart::Number(7)]);
        for (at, bit) in (0..text.len()).flat_map(|at| (0..7).map(move |bit| (at, bit))) {
            let mut changed = text.as_bytes().to_vec();
            changed[at] ^= 1 << bit;
            let changed = String::from_utf8(changed).unwrap();
            assert_ne!(checksum(&[ChecksumPart::Text(&changed), ChecksumPart::Number(7)]), whole);
        }
        assert_ne!(checksum(&[ChecksumPart::Text(text), ChecksumPart::Number(6)]), whole);
    }

    #[test]
    fn text_moved_from_one_value_to_the_next_changes_the_checksum() {
        assert_ne!(
            checksum(&[ChecksumPart::Text("ab"), ChecksumPart::Text("c")]),
            checksum(&[ChecksumPart::Text("a"), ChecksumPart::Text("bc")])
        );
    }
}
