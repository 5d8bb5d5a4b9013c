//! Cuts a byte stream into lines with bounded memory. A line that lies whole in one chunk is not copied.
use memchr::memchr;

/// The longest line that is evaluated. Real records are far shorter; what is longer is a tool result.
pub(super) const MAX_LINE_BYTES: usize = 4 << 20;

/// What is kept of a longer one: it shows what kind of record it was.
const CUT_LINE_HEAD_BYTES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SplitLine<'a> {
    /// A line without its newline.
    Whole(&'a [u8]),
    /// A line that was longer than the limit. Only its first bytes are left: half a record says nothing reliable.
    Cut { head: &'a [u8] },
}

#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    partial: PartialLine,
}

/// What is kept of the line that has begun.
#[derive(Debug)]
enum PartialLine {
    Buffered(Vec<u8>),
    /// Only the head.
    TooLong(Vec<u8>),
}

impl Default for PartialLine {
    fn default() -> Self {
        Self::Buffered(Vec::new())
    }
}

impl LineSplitter {
    /// Hands every line that ends in this chunk to `sink`.
    pub(super) fn push(&mut self, mut chunk: &[u8], sink: &mut dyn FnMut(SplitLine<'_>)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end);
            self.complete_line(line, sink);
            chunk = rest.get(1..).unwrap_or_default();
        }
        self.hold_partial(chunk);
    }

    /// Hands over the last line if it has no newline.
    pub(super) fn finish(&mut self, sink: &mut dyn FnMut(SplitLine<'_>)) {
        match std::mem::take(&mut self.partial) {
            PartialLine::Buffered(part) if part.is_empty() => {}
            PartialLine::Buffered(part) => sink(SplitLine::Whole(&part)),
            PartialLine::TooLong(head) => sink(SplitLine::Cut { head: &head }),
        }
    }

    fn complete_line(&mut self, end: &[u8], sink: &mut dyn FnMut(SplitLine<'_>)) {
        match &mut self.partial {
            PartialLine::Buffered(part) if part.len() + end.len() > MAX_LINE_BYTES => {
                sink(SplitLine::Cut { head: &line_head(part, end) });
                part.clear();
            }
            PartialLine::Buffered(part) if part.is_empty() => sink(SplitLine::Whole(end)),
            PartialLine::Buffered(part) => {
                part.extend_from_slice(end);
                sink(SplitLine::Whole(part));
                part.clear();
            }
            PartialLine::TooLong(head) => {
                sink(SplitLine::Cut { head });
                self.partial = PartialLine::default();
            }
        }
    }

    fn hold_partial(&mut self, begun: &[u8]) {
        match &mut self.partial {
            PartialLine::Buffered(part) if part.len() + begun.len() > MAX_LINE_BYTES => {
                self.partial = PartialLine::TooLong(line_head(part, begun));
            }
            PartialLine::Buffered(part) => part.extend_from_slice(begun),
            PartialLine::TooLong(_) => {}
        }
    }
}

/// Returns the beginning of a line that stands in two pieces.
fn line_head(first: &[u8], second: &[u8]) -> Vec<u8> {
    first.iter().chain(second).take(CUT_LINE_HEAD_BYTES).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split_chunks(chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let mut seen = Vec::new();
        let mut lines = LineSplitter::default();
        let mut sink = |line: SplitLine<'_>| match line {
            SplitLine::Whole(bytes) => seen.push(Some(bytes.to_vec())),
            SplitLine::Cut { .. } => seen.push(None),
        };
        for chunk in chunks {
            lines.push(chunk, &mut sink);
        }
        lines.finish(&mut sink);
        seen
    }

    #[test] // spec: A5
    fn the_last_line_needs_no_newline() {
        assert_eq!(split_chunks(&[b"a\nb"]), [Some(b"a".to_vec()), Some(b"b".to_vec())]);
        assert_eq!(split_chunks(&[b"a\n"]), [Some(b"a".to_vec())]);
        assert_eq!(split_chunks(&[b""]), [None; 0]);
    }

    #[test] // spec: A4, S8
    fn a_line_beyond_the_limit_is_cut_whichever_way_it_arrives() {
        let mut stream = vec![b'x'; MAX_LINE_BYTES + 1];
        stream.extend_from_slice(b"\nafter");
        let expected = vec![None, Some(b"after".to_vec())];
        assert_eq!(split_chunks(&[&stream]), expected);
        assert_eq!(split_chunks(&stream.chunks(65_536).collect::<Vec<_>>()), expected);
        assert_eq!(split_chunks(&[&stream[..MAX_LINE_BYTES + 1]]), [None]);
    }

    #[test] // spec: A4
    fn a_line_of_exactly_the_limit_is_whole() {
        let stream = vec![b'x'; MAX_LINE_BYTES];
        assert_eq!(split_chunks(&[&stream[..7], &stream[7..], b"\n"]), [Some(stream.clone())]);
    }

    #[test] // spec: A4, S8
    fn memory_stays_flat_over_a_line_of_100_megabytes() {
        let mut lines = LineSplitter::default();
        let chunk = vec![b'y'; 1 << 20];
        for _ in 0..100 {
            lines.push(&chunk, &mut |_| panic!("the line has not ended"));
            let PartialLine::Buffered(part) = &lines.partial else { continue };
            assert!(part.capacity() <= 2 * MAX_LINE_BYTES);
        }
        assert!(matches!(lines.partial, PartialLine::TooLong(_)));
        let mut cut = 0;
        lines.push(b"\n", &mut |line| cut += u32::from(matches!(line, SplitLine::Cut { .. })));
        assert_eq!(cut, 1);
    }

    proptest! {
        #[test] // spec: A5
        fn chunk_boundaries_change_nothing(text in "[ab\n]{0,80}", size in 1_usize..10) {
            let whole = split_chunks(&[text.as_bytes()]);
            let pieces = split_chunks(&text.as_bytes().chunks(size).collect::<Vec<_>>());
            prop_assert_eq!(&whole, &pieces);
            let plain: Vec<_> = text.lines().map(|line| Some(line.as_bytes().to_vec())).collect();
            prop_assert_eq!(whole, plain);
        }
    }
}
