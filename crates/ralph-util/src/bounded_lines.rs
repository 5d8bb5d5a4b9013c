//! Reads lines with a length limit, so that a file without line breaks or without an end cannot use up the memory.
//! Hand-written because `BufRead::lines` has no limit.
use std::io::{self, BufRead, Read};

/// The lines of a text without their line endings. Numbers start at 1.
pub struct BoundedLines<R> {
    reader: R,
    line_number: usize,
    max_line_bytes: u64,
}

impl<R: BufRead> BoundedLines<R> {
    /// Reads lines of at most `max_line_bytes`.
    pub fn new(reader: R, max_line_bytes: u64) -> Self {
        Self { reader, line_number: 0, max_line_bytes }
    }

    /// Returns the number of the line that was read last, or that could not be read.
    pub fn line_number(&self) -> usize {
        self.line_number
    }

    /// Returns the next line that is not blank.
    pub fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let mut line = Vec::new();
            self.line_number += 1;
            if self.reader.by_ref().take(self.max_line_bytes + 1).read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            if line.len() as u64 > self.max_line_bytes {
                let message = format!("line is longer than {} MB", self.max_line_bytes >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_blank_ones_are_skipped() {
        let mut lines = BoundedLines::new(&b"a\n\n  \nbc\nd"[..], 2);
        let mut numbered = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            numbered.push((lines.line_number(), line));
        }
        assert_eq!(numbered, [(1, b"a".to_vec()), (4, b"bc".to_vec()), (5, b"d".to_vec())]);
    }

    // fault: 82
    #[test]
    fn a_line_that_is_too_long_is_refused_without_reading_all_of_it() {
        let mut lines = BoundedLines::new(io::BufReader::new(io::repeat(0)), 3 << 20);
        assert_eq!(lines.next_line().unwrap_err().to_string(), "line is longer than 3 MB");
        assert_eq!(lines.line_number(), 1);
    }
}
