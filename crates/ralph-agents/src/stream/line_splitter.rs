//! Splits a byte stream into lines with bounded memory. A line that is complete within one chunk is not copied.
use memchr::memchr;

/// The longest line that is parsed. Only tool results exceed it.
pub(crate) const MAX_LINE_BYTES: usize = 4 << 20;

/// How much of an oversized line is kept: enough to recognise the kind of record.
const CUT_LINE_HEAD_BYTES: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SplitLine<'a> {
    /// A line without its newline.
    Whole(&'a [u8]),
    /// A line that exceeded the limit. Only its first bytes are kept, because a truncated record is not reliable.
    Cut { head: &'a [u8] },
}

#[derive(Debug, Default)]
pub(crate) struct LineSplitter {
    partial: PartialLine,
}

/// The incomplete line at the end of the input so far.
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
    /// Passes every line that ends in this chunk to `sink`.
    pub(crate) fn push(&mut self, mut chunk: &[u8], sink: &mut dyn FnMut(SplitLine<'_>)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end);
            self.complete_line(line, sink);
            chunk = rest.get(1..).unwrap_or_default();
        }
        self.hold_partial(chunk);
    }

    /// Passes the last line to `sink` if it has no newline.
    pub(crate) fn finish(&mut self, sink: &mut dyn FnMut(SplitLine<'_>)) {
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

    fn hold_partial(&mut self, bytes: &[u8]) {
        match &mut self.partial {
            PartialLine::Buffered(part) if part.len() + bytes.len() > MAX_LINE_BYTES => {
                self.partial = PartialLine::TooLong(line_head(part, bytes));
            }
            PartialLine::Buffered(part) => part.extend_from_slice(bytes),
            PartialLine::TooLong(_) => {}
        }
    }
}

/// Returns the first bytes of a line that consists of two parts.
fn line_head(first: &[u8], second: &[u8]) -> Vec<u8> {
    first.iter().chain(second).take(CUT_LINE_HEAD_BYTES).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split_chunks(chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let mut lines = Vec::new();
        let mut splitter = LineSplitter::default();
        let mut sink = |line: SplitLine<'_>| match line {
            SplitLine::Whole(bytes) => lines.push(Some(bytes.to_vec())),
            SplitLine::Cut { .. } => lines.push(None),
        };
        for chunk in chunks {
            splitter.push(chunk, &mut sink);
        }
        splitter.finish(&mut sink);
        lines
    }

    #[test] // spec: A5
    fn the_last_line_needs_no_newline() {
        assert_eq!(split_chunks(&[b"a\nb"]), [Some(b"a".to_vec()), Some(b"b".to_vec())]);
        assert_eq!(split_chunks(&[b"a\n"]), [Some(b"a".to_vec())]);
        assert_eq!(split_chunks(&[b""]), [None; 0]);
    }

    #[test] // spec: A4, S8
    fn a_line_beyond_the_limit_is_cut_however_it_is_chunked() {
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
        let mut splitter = LineSplitter::default();
        let chunk = vec![b'y'; 1 << 20];
        for _ in 0..100 {
            splitter.push(&chunk, &mut |_| panic!("the line has not ended"));
            let PartialLine::Buffered(part) = &splitter.partial else { continue };
            assert!(part.capacity() <= 2 * MAX_LINE_BYTES);
        }
        assert!(matches!(splitter.partial, PartialLine::TooLong(_)));
        let mut cut = 0;
        splitter.push(b"\n", &mut |line| cut += u32::from(matches!(line, SplitLine::Cut { .. })));
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
