//! Cuts an agent's output into the lines that the user's display filter turns into what is shown. The filter runs
//! elsewhere; what it cannot follow is not shown.
use std::collections::VecDeque;

use super::line_splitter::{LineSplitter, SplitLine};

/// How much may wait for the filter.
const MAX_WAITING_BYTES: usize = 4 << 20;
/// What a line that waits costs beside its bytes.
const LINE_OVERHEAD_BYTES: usize = 64;

#[derive(Default)]
pub struct DisplayLines {
    splitter: LineSplitter,
    waiting_sizes: VecDeque<usize>,
    waiting_bytes: usize,
}

impl DisplayLines {
    /// Returns the whole lines among these bytes for which there is room.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut asked = Vec::new();
        let Self { splitter: lines, waiting_sizes: waiting, waiting_bytes } = self;
        lines.push(bytes, &mut |line| match line {
            SplitLine::Whole(line) if *waiting_bytes + line.len() + LINE_OVERHEAD_BYTES <= MAX_WAITING_BYTES => {
                asked.extend_from_slice(line);
                asked.push(b'\n');
                waiting.push_back(line.len() + LINE_OVERHEAD_BYTES);
                *waiting_bytes += line.len() + LINE_OVERHEAD_BYTES;
            }
            SplitLine::Whole(_) | SplitLine::Cut { .. } => {}
        });
        asked
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting_sizes.is_empty()
    }

    /// Makes room: the line that has waited longest was answered.
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
