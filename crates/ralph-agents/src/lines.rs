//! Cuts a byte stream into lines with bounded memory. A line that lies whole in one chunk is not copied.
use memchr::memchr;

/// The longest line that is evaluated. Real records are far shorter; what is longer is a tool result.
pub(super) const LINE_LIMIT: usize = 4 << 20;

/// What is kept of a longer one: it shows what kind of record it was.
const HEAD: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A line without its newline.
    Whole(&'a [u8]),
    /// A line that was longer than the limit. Only its first bytes are left: half a record says nothing reliable.
    Cut { head: &'a [u8] },
}

#[derive(Debug, Default)]
pub(super) struct Lines {
    held: Held,
}

/// What is kept of the line that has begun.
#[derive(Debug)]
enum Held {
    Part(Vec<u8>),
    /// Only the head.
    TooLong(Vec<u8>),
}

impl Default for Held {
    fn default() -> Self {
        Self::Part(Vec::new())
    }
}

impl Lines {
    /// Hands every line that ends in this chunk to `sink`.
    pub(super) fn push(&mut self, mut chunk: &[u8], sink: &mut dyn FnMut(Line<'_>)) {
        while let Some(end) = memchr(b'\n', chunk) {
            let (line, rest) = chunk.split_at(end);
            self.complete(line, sink);
            chunk = rest.get(1..).unwrap_or_default();
        }
        self.hold(chunk);
    }

    /// Hands over the last line if it has no newline.
    pub(super) fn finish(&mut self, sink: &mut dyn FnMut(Line<'_>)) {
        match std::mem::take(&mut self.held) {
            Held::Part(part) if part.is_empty() => {}
            Held::Part(part) => sink(Line::Whole(&part)),
            Held::TooLong(head) => sink(Line::Cut { head: &head }),
        }
    }

    fn complete(&mut self, end: &[u8], sink: &mut dyn FnMut(Line<'_>)) {
        match &mut self.held {
            Held::Part(part) if part.len() + end.len() > LINE_LIMIT => {
                sink(Line::Cut { head: &head(part, end) });
                part.clear();
            }
            Held::Part(part) if part.is_empty() => sink(Line::Whole(end)),
            Held::Part(part) => {
                part.extend_from_slice(end);
                sink(Line::Whole(part));
                part.clear();
            }
            Held::TooLong(head) => {
                sink(Line::Cut { head });
                self.held = Held::default();
            }
        }
    }

    fn hold(&mut self, begun: &[u8]) {
        match &mut self.held {
            Held::Part(part) if part.len() + begun.len() > LINE_LIMIT => {
                self.held = Held::TooLong(head(part, begun));
            }
            Held::Part(part) => part.extend_from_slice(begun),
            Held::TooLong(_) => {}
        }
    }
}

/// Returns the beginning of a line that stands in two pieces.
fn head(first: &[u8], second: &[u8]) -> Vec<u8> {
    first.iter().chain(second).take(HEAD).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(chunks: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        let mut seen = Vec::new();
        let mut lines = Lines::default();
        let mut sink = |line: Line<'_>| match line {
            Line::Whole(bytes) => seen.push(Some(bytes.to_vec())),
            Line::Cut { .. } => seen.push(None),
        };
        for chunk in chunks {
            lines.push(chunk, &mut sink);
        }
        lines.finish(&mut sink);
        seen
    }

    #[test] // spec: A5
    fn the_last_line_needs_no_newline() {
        assert_eq!(split(&[b"a\nb"]), [Some(b"a".to_vec()), Some(b"b".to_vec())]);
        assert_eq!(split(&[b"a\n"]), [Some(b"a".to_vec())]);
        assert_eq!(split(&[b""]), [None; 0]);
    }

    #[test] // spec: A4, S8
    fn a_line_beyond_the_limit_is_cut_whichever_way_it_arrives() {
        let mut stream = vec![b'x'; LINE_LIMIT + 1];
        stream.extend_from_slice(b"\nafter");
        let expected = vec![None, Some(b"after".to_vec())];
        assert_eq!(split(&[&stream]), expected);
        assert_eq!(split(&stream.chunks(65_536).collect::<Vec<_>>()), expected);
        assert_eq!(split(&[&stream[..LINE_LIMIT + 1]]), [None]);
    }

    #[test] // spec: A4
    fn a_line_of_exactly_the_limit_is_whole() {
        let stream = vec![b'x'; LINE_LIMIT];
        assert_eq!(split(&[&stream[..7], &stream[7..], b"\n"]), [Some(stream.clone())]);
    }

    #[test] // spec: A4, S8
    fn memory_stays_flat_over_a_line_of_100_megabytes() {
        let mut lines = Lines::default();
        let chunk = vec![b'y'; 1 << 20];
        for _ in 0..100 {
            lines.push(&chunk, &mut |_| panic!("the line has not ended"));
            let Held::Part(part) = &lines.held else { continue };
            assert!(part.capacity() <= 2 * LINE_LIMIT);
        }
        assert!(matches!(lines.held, Held::TooLong(_)));
        let mut cut = 0;
        lines.push(b"\n", &mut |line| cut += u32::from(matches!(line, Line::Cut { .. })));
        assert_eq!(cut, 1);
    }

    proptest! {
        #[test] // spec: A5
        fn chunk_borders_change_nothing(text in "[ab\n]{0,80}", size in 1_usize..10) {
            let whole = split(&[text.as_bytes()]);
            let pieces = split(&text.as_bytes().chunks(size).collect::<Vec<_>>());
            prop_assert_eq!(&whole, &pieces);
            let plain: Vec<_> = text.lines().map(|line| Some(line.as_bytes().to_vec())).collect();
            prop_assert_eq!(whole, plain);
        }
    }
}
