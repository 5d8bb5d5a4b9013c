//! Checksums of stored values (64-bit FNV-1a): against disks and programs that change a byte, not against people.

/// A value that is part of a checksum.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    Text(&'a str),
    Number(i64),
}

/// Returns the checksum of values in their order.
pub(super) fn sum(parts: &[Part<'_>]) -> i64 {
    let start = 0xcbf2_9ce4_8422_2325;
    parts
        .iter()
        .fold(start, |state, part| match part {
            // The length keeps what moves from one value to the next from going unnoticed.
            Part::Text(text) => bytes(bytes(state, &text.len().to_le_bytes()), text.as_bytes()),
            Part::Number(number) => bytes(state, &number.to_le_bytes()),
        })
        .cast_signed()
}

fn bytes(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Holds the checksum of what was found against the stored one, if there is one.
pub(super) fn verify(stored: Option<i64>, found: i64, what: &str) -> Result<(), sqlx::Error> {
    match stored {
        Some(stored) if stored != found => {
            Err(sqlx::Error::Decode(format!("{what} is not what was written").into()))
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 59
    #[test]
    fn every_changed_bit_changes_the_sum() {
        let text = "{\"event\":\"run.finished\"}";
        let whole = sum(&[Part::Text(text), Part::Number(7)]);
        for (at, bit) in (0..text.len()).flat_map(|at| (0..7).map(move |bit| (at, bit))) {
            let mut changed = text.as_bytes().to_vec();
            changed[at] ^= 1 << bit;
            let changed = String::from_utf8(changed).unwrap();
            assert_ne!(sum(&[Part::Text(&changed), Part::Number(7)]), whole);
        }
        assert_ne!(sum(&[Part::Text(text), Part::Number(6)]), whole);
    }

    #[test]
    fn what_moves_from_one_value_to_the_next_is_noticed() {
        assert_ne!(sum(&[Part::Text("ab"), Part::Text("c")]), sum(&[Part::Text("a"), Part::Text("bc")]));
    }
}
