//! Hides what is known by its value: each registered value in each form that it may take.
//!
//! Every form has at least eight bytes, so one of its first six three-byte groups begins at every sixth byte of the
//! stream, wherever it stands: only those groups are looked at.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::Out;
use super::behind::Behind;
use super::forms;
use super::held::Held;
use super::value::Secret;

/// The shortest value that is hidden.
pub(super) const SHORTEST: usize = 8;

/// The distance between two looks, and how many beginnings one look covers.
const STRIDE: usize = 6;

/// So many bytes are looked at in one go.
const BLOCK: usize = 4 * STRIDE;

/// The forms of all values, sorted.
#[derive(Debug)]
pub(super) struct Dictionary {
    literals: Vec<Literal>,
    /// The first eight bytes of each, in the same order.
    heads: Vec<u64>,
    /// A bit for each hash of a three-byte group that stands near the beginning of a form.
    groups: Box<[u64; 1024]>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Literal {
    bytes: Vec<u8>,
    mark: String,
}

/// What stands at a place of the stream.
enum Here {
    Nothing,
    /// The stream must go on before it is known.
    Undecided,
    Value {
        length: usize,
        mark: usize,
    },
}

/// What was found, and where it begins.
enum Found<'a> {
    Nothing,
    Undecided { start: usize },
    Value { start: usize, length: usize, mark: &'a str },
}

impl Dictionary {
    pub(super) fn new(secrets: &[Secret]) -> Self {
        let mut literals: Vec<Literal> = secrets.iter().flat_map(literals_of).collect();
        literals.sort();
        literals.dedup_by(|one, other| one.bytes == other.bytes);
        let heads = literals.iter().filter_map(|literal| head(&literal.bytes)).collect();
        let mut groups = Box::new([0; 1024]);
        for literal in &literals {
            for group in literal.bytes.array_windows::<3>().take(STRIDE) {
                let [a, b, c] = *group;
                let (word, bit) = place_of([a, b, c, 0]);
                if let Some(word) = groups.get_mut(word) {
                    *word |= 1 << bit;
                }
            }
        }
        Self { literals, heads, groups }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.literals.is_empty()
    }

    /// Finds the first value that begins at `from` or later; of several at one place the longest.
    fn find(&self, data: &[u8], from: usize, end: End) -> Found<'_> {
        let looks = data.get(from + STRIDE - 1..).unwrap_or_default();
        let (blocks, rest) = looks.as_chunks::<BLOCK>();
        let mut first = from;
        for block in blocks {
            if self.has_any(block) {
                match self.first_of(data, first, first + BLOCK, end) {
                    Found::Nothing => {}
                    found @ (Found::Undecided { .. } | Found::Value { .. }) => return found,
                }
            }
            first += BLOCK;
        }
        debug_assert!(rest.len() < BLOCK);
        self.first_of(data, first, data.len(), end)
    }

    /// Looks at four groups at once: most of the time is spent here.
    fn has_any(&self, block: &[u8; BLOCK]) -> bool {
        let [a, b, c, d, _, _, e, f, g, h, _, _, i, j, k, l, _, _, m, n, o, p, ..] = *block;
        self.bit([a, b, c, d]) | self.bit([e, f, g, h]) | self.bit([i, j, k, l]) | self.bit([m, n, o, p]) != 0
    }

    fn bit(&self, group: [u8; 4]) -> u64 {
        let (word, bit) = place_of(group);
        self.groups.get(word).copied().unwrap_or_default() >> bit & 1
    }

    fn first_of(&self, data: &[u8], first: usize, last: usize, end: End) -> Found<'_> {
        for start in first..last.min(data.len()) {
            match self.at(data.get(start..).unwrap_or_default(), end) {
                Here::Nothing => {}
                Here::Undecided => return Found::Undecided { start },
                Here::Value { length, mark } => {
                    let mark =
                        self.literals.get(mark).map(|literal| literal.mark.as_str()).unwrap_or_default();
                    return Found::Value { start, length, mark };
                }
            }
        }
        Found::Nothing
    }

    fn at(&self, rest: &[u8], end: End) -> Here {
        let Some(wanted) = head(rest) else { return self.cut_short(rest, end) };
        let first = self.heads.partition_point(|head| *head < wanted);
        let mut best = Here::Nothing;
        for (index, literal) in self.literals.iter().enumerate().skip(first) {
            if self.heads.get(index) != Some(&wanted) {
                break;
            }
            if rest.starts_with(&literal.bytes) {
                // They are sorted: the later one is longer.
                best = Here::Value { length: literal.bytes.len(), mark: index };
            } else if end == End::Open && literal.bytes.starts_with(rest) {
                return Here::Undecided;
            }
        }
        best
    }

    /// Fewer bytes than any value has: they may be the beginning of one.
    fn cut_short(&self, rest: &[u8], end: End) -> Here {
        let next = self.literals.partition_point(|literal| literal.bytes.as_slice() < rest);
        let begins = self.literals.get(next).is_some_and(|literal| literal.bytes.starts_with(rest));
        if begins && end == End::Open { Here::Undecided } else { Here::Nothing }
    }
}

fn literals_of(secret: &Secret) -> impl Iterator<Item = Literal> {
    let mark = secret.mark();
    forms::of(&secret.value).into_iter().map(move |bytes| Literal { bytes, mark: mark.clone() })
}

fn head(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|head| u64::from_be_bytes(*head))
}

/// Returns the word and the bit of a group: three bytes, and a fourth that does not count.
fn place_of(group: [u8; 4]) -> (usize, u32) {
    let hash = (u32::from_le_bytes(group) & 0x00FF_FFFF).wrapping_mul(0x9E37_79B1) >> 16;
    ((hash >> 6) as usize & 1023, hash & 63)
}

/// Whether more may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Open,
    Reached,
}

/// One stream on its way through the dictionary.
#[derive(Debug, Default)]
pub(super) struct ValueFold {
    /// The beginning of what may be a value.
    held: Held,
    behind: Behind,
}

impl ValueFold {
    pub(super) fn push(&mut self, values: &Dictionary, piece: &[u8], out: Out<'_>) {
        let mut held = core::mem::take(&mut self.held);
        held.push(piece, |data| self.pass(values, data, End::Open, out).len());
        self.held = held;
    }

    pub(super) fn finish(&mut self, values: &Dictionary, out: Out<'_>) {
        let all = self.held.take();
        self.pass(values, &all, End::Reached, out);
    }

    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    /// Passes on what is decided and returns the rest.
    fn pass<'a>(&mut self, values: &Dictionary, data: &'a [u8], end: End, out: Out<'_>) -> &'a [u8] {
        let mut done = 0;
        loop {
            match values.find(data, done, end) {
                Found::Nothing => {
                    out(self.advance(data, done, data.len()));
                    return &[];
                }
                Found::Undecided { start } => {
                    out(self.advance(data, done, start));
                    return data.get(start..).unwrap_or_default();
                }
                Found::Value { start, length, mark } => {
                    out(self.advance(data, done, start));
                    done = start + length;
                    self.hide(data.get(start..done).unwrap_or_default(), mark, out);
                }
            }
        }
    }

    /// Writes the mark instead of a value. What belongs to an escape that was begun before stays: half of one would
    /// make the JSON around it invalid.
    fn hide(&mut self, value: &[u8], mark: &str, out: Out<'_>) {
        let open = self.behind.open_escape(value);
        out(value.get(..open).unwrap_or_default());
        out(mark.as_bytes());
        self.behind = self.behind.then(value);
    }

    fn advance<'a>(&mut self, data: &'a [u8], from: usize, to: usize) -> &'a [u8] {
        let passed = data.get(from..to).unwrap_or_default();
        self.behind = self.behind.then(passed);
        passed
    }
}
