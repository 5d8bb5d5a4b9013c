//! The tail of a stream with a size limit. Secrets are removed before the cut, because half a secret is not recognised.
use ralph_core::redact::StreamRedactor;

use ralph_util::redact;

/// Keeps the last bytes of a stream.
#[derive(Debug)]
pub struct OutputTail {
    redactor: StreamRedactor,
    kept_bytes: Vec<u8>,
    limit_bytes: usize,
}

impl OutputTail {
    #[must_use]
    pub fn new(limit_bytes: usize) -> Self {
        Self { redactor: redact::new_redactor(), kept_bytes: Vec::new(), limit_bytes }
    }

    pub fn push(&mut self, piece: &[u8]) {
        let Self { redactor, kept_bytes: bytes, limit_bytes: limit } = self;
        redactor.push(piece, &mut |part| append_bounded(bytes, part, *limit));
    }

    /// Ends the stream and returns its tail as text. If the beginning was cut, starts at the first complete line.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let Self { redactor, kept_bytes: bytes, limit_bytes: limit } = self;
        redactor.finish(&mut |part| append_bounded(bytes, part, *limit));
        let cut = self.kept_bytes.len() == self.limit_bytes;
        let start = self.kept_bytes.iter().position(|&byte| byte == b'\n').filter(|_| cut).map_or(0, |at| at + 1);
        String::from_utf8_lossy(self.kept_bytes.get(start..).unwrap_or_default()).into_owned()
    }
}

fn append_bounded(bytes: &mut Vec<u8>, part: &[u8], limit: usize) {
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
        let mut tail = OutputTail::new(6);
        for piece in ["abc", "", "defghij", "k\nlmno"] {
            tail.push(piece.as_bytes());
        }
        assert_eq!(tail.finish(), "lmno", "a line that lost its beginning is not shown");
        assert_eq!(tail.kept_bytes, b"k\nlmno");
    }

    // fault: 84
    // spec: X3
    #[test]
    fn a_secret_whose_beginning_is_no_longer_kept_is_still_hidden() {
        let mut tail = OutputTail::new(30);
        tail.push(format!("ghp_{} end", "a1B2c3".repeat(6)).as_bytes());
        assert_eq!(tail.finish(), "[redacted] end");
    }
}
