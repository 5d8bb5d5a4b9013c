//! The end of a stream, bounded and without secrets: what is cut later must not lose the beginning of one.
use ralph_core::redact::Redactor;

use ralph_util::redact;

/// Keeps the last bytes of what is pushed.
#[derive(Debug)]
pub struct Tail {
    redactor: Redactor,
    bytes: Vec<u8>,
    limit: usize,
}

impl Tail {
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { redactor: redact::stream(), bytes: Vec::new(), limit }
    }

    pub fn push(&mut self, piece: &[u8]) {
        let Self { redactor, bytes, limit } = self;
        redactor.push(piece, &mut |part| keep(bytes, part, *limit));
    }

    /// Ends the stream and returns its end as text, from a whole line on where there is one.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let Self { redactor, bytes, limit } = self;
        redactor.finish(&mut |part| keep(bytes, part, *limit));
        let cut = self.bytes.len() == self.limit;
        let start = self.bytes.iter().position(|&byte| byte == b'\n').filter(|_| cut).map_or(0, |at| at + 1);
        String::from_utf8_lossy(self.bytes.get(start..).unwrap_or_default()).into_owned()
    }
}

fn keep(bytes: &mut Vec<u8>, part: &[u8], limit: usize) {
    let end = part.get(part.len().saturating_sub(limit)..).unwrap_or_default();
    let over = (bytes.len() + end.len()).saturating_sub(limit);
    bytes.drain(..over.min(bytes.len()));
    bytes.extend_from_slice(end);
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
        assert_eq!(tail.finish(), "lmno", "a line that lost its beginning is not shown");
        assert_eq!(tail.bytes, b"k\nlmno");
    }

    // fault: 84
    // spec: X3
    #[test]
    fn a_secret_whose_beginning_is_no_longer_kept_is_hidden_all_the_same() {
        let mut tail = Tail::new(30);
        tail.push(format!("ghp_{} end", "a1B2c3".repeat(6)).as_bytes());
        assert_eq!(tail.finish(), "[redacted] end");
    }
}
