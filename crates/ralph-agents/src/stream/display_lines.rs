//! Splits an agent's output into lines for the user's display filter. The filter runs in another process; lines that
//! exceed its queue are dropped.
use std::collections::VecDeque;

use crate::stream::line_splitter::{LineSplitter, SplitLine};

/// Size limit of the lines that wait for the filter.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// Memory overhead of a waiting line in addition to its bytes.
const LINE_OVERHEAD_BYTES: usize = 64;

#[derive(Default)]
pub struct DisplayLines {
    splitter: LineSplitter,
    waiting_sizes: VecDeque<usize>,
    waiting_bytes: usize,
}

impl DisplayLines {
    /// Returns the complete lines in `bytes` that fit into the queue.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut forwarded = Vec::new();
        let Self { splitter, waiting_sizes, waiting_bytes } = self;
        splitter.push(bytes, &mut |line| match line {
            SplitLine::Whole(line) if *waiting_bytes + line.len() + LINE_OVERHEAD_BYTES <= MAX_WAITING_BYTES => {
                forwarded.extend_from_slice(line);
                forwarded.push(b'\n');
                waiting_sizes.push_back(line.len() + LINE_OVERHEAD_BYTES);
                *waiting_bytes += line.len() + LINE_OVERHEAD_BYTES;
            }
            SplitLine::Whole(_) | SplitLine::Cut { .. } => {}
        });
        forwarded
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting_sizes.is_empty()
    }

    /// Removes the oldest waiting line from the queue after the filter has answered it.
    pub fn release_answered_line(&mut self) {
        self.waiting_bytes -= self.waiting_sizes.pop_front().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A2
    #[test]
    fn whole_lines_are_forwarded_in_chunks_of_any_size() {
        let mut display = DisplayLines::default();
        assert_eq!(display.push(b"one\ntwo\nthr"), b"one\ntwo\n");
        assert_eq!(display.push(b"ee\n"), b"three\n");
    }

    // spec: A2, A4
    #[test]
    fn lines_beyond_the_queue_limit_are_dropped() {
        let mut display = DisplayLines::default();
        let line = [vec![b'x'; MAX_WAITING_BYTES / 2], b"\n".to_vec()].concat();
        assert_eq!(display.push(&line).len(), line.len());
        assert_eq!(display.push(&line).len(), 0);
        display.release_answered_line();
        assert_eq!(display.push(&line).len(), line.len());
    }
}
