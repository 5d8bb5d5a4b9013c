//! Cuts an agent's output into the lines that the user's display filter turns into what is shown. The filter runs
//! elsewhere; what it cannot follow is not shown.
use std::collections::VecDeque;

use super::lines::{Line, Lines};

/// How much may wait for the filter.
const WAITING: usize = 4 << 20;
/// What a line that waits costs beside its bytes.
const OVERHEAD: usize = 64;

#[derive(Default)]
pub struct DisplayLines {
    lines: Lines,
    waiting: VecDeque<usize>,
    waiting_bytes: usize,
}

impl DisplayLines {
    /// Returns the whole lines among these bytes for which there is room.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut asked = Vec::new();
        let Self { lines, waiting, waiting_bytes } = self;
        lines.push(bytes, &mut |line| match line {
            Line::Whole(line) if *waiting_bytes + line.len() + OVERHEAD <= WAITING => {
                asked.extend_from_slice(line);
                asked.push(b'\n');
                waiting.push_back(line.len() + OVERHEAD);
                *waiting_bytes += line.len() + OVERHEAD;
            }
            Line::Whole(_) | Line::Cut { .. } => {}
        });
        asked
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Makes room: the line that has waited longest was answered.
    pub fn answered(&mut self) {
        self.waiting_bytes -= self.waiting.pop_front().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A2
    #[test]
    fn whole_lines_are_shown_whatever_the_pieces() {
        let mut display = DisplayLines::default();
        assert_eq!(display.push(b"one\ntwo\nthr"), b"one\ntwo\n");
        assert_eq!(display.push(b"ee\n"), b"three\n");
    }

    // spec: A2, A4
    #[test]
    fn what_the_filter_cannot_follow_is_not_shown() {
        let mut display = DisplayLines::default();
        let line = [vec![b'x'; WAITING / 2], b"\n".to_vec()].concat();
        assert_eq!(display.push(&line).len(), line.len());
        assert_eq!(display.push(&line).len(), 0);
        display.answered();
        assert_eq!(display.push(&line).len(), line.len());
    }
}
