//! The end of a stream, bounded.

/// Keeps the last bytes of what is pushed.
#[derive(Debug)]
pub struct Tail {
    bytes: Vec<u8>,
    limit: usize,
}

impl Tail {
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let keep = bytes.get(bytes.len().saturating_sub(self.limit)..).unwrap_or_default();
        let over = (self.bytes.len() + keep.len()).saturating_sub(self.limit);
        self.bytes.drain(..over.min(self.bytes.len()));
        self.bytes.extend_from_slice(keep);
    }

    /// Returns the end as text, from a whole line on where there is one.
    #[must_use]
    pub fn text(&self) -> String {
        let cut = self.bytes.len() == self.limit;
        let start = self.bytes.iter().position(|&byte| byte == b'\n').filter(|_| cut).map_or(0, |at| at + 1);
        String::from_utf8_lossy(self.bytes.get(start..).unwrap_or_default()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_last_bytes_whatever_the_size_of_the_pieces() {
        let mut tail = Tail::new(6);
        for piece in ["abc", "", "defghij", "k\nlmno"] {
            tail.push(piece.as_bytes());
        }
        assert_eq!(tail.bytes, b"k\nlmno");
        assert_eq!(tail.text(), "lmno", "a line that lost its beginning is not shown");
    }
}
