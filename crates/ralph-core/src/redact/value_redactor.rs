//! Redacts secrets that are known by value, in each form of each value.
//!
//! Every form has at least eight bytes. Wherever it occurs, one of its first six three-byte groups starts at a multiple
//! of six bytes, so the search checks only those groups.
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::ByteSink;
use super::held_bytes::HeldBytes;
use super::look_behind::LookBehind;
use super::named_secret::NamedSecret;
use super::value_forms;

/// Shorter values are not redacted.
pub(super) const MIN_SECRET_BYTES: usize = 8;

/// The distance between two checked groups.
const GROUP_STRIDE_BYTES: usize = 6;

/// How many bytes the search processes at once.
const SEARCH_BLOCK_BYTES: usize = 4 * GROUP_STRIDE_BYTES;

/// The forms of all values, sorted.
#[derive(Debug)]
pub(super) struct ValueDictionary {
    literals: Vec<SecretLiteral>,
    /// The first eight bytes of each, in the same order.
    heads: Vec<u64>,
    /// A bit for each hash of a three-byte group near the start of a form.
    group_bits: Box<[u64; 1024]>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SecretLiteral {
    bytes: Vec<u8>,
    mark: String,
}

/// Whether a literal starts at a position.
enum LiteralMatch {
    Nothing,
    /// More input is needed to decide.
    Undecided,
    Value {
        length: usize,
        literal_index: usize,
    },
}

/// The first match and its position.
enum ValueMatch<'a> {
    Nothing,
    Undecided { start: usize },
    Value { start: usize, length: usize, mark: &'a str },
}

impl ValueDictionary {
    pub(super) fn new(secrets: &[NamedSecret]) -> Self {
        let mut literals: Vec<SecretLiteral> = secrets.iter().flat_map(literals_of).collect();
        literals.sort();
        literals.dedup_by(|one, other| one.bytes == other.bytes);
        let heads = literals.iter().filter_map(|literal| head_bytes(&literal.bytes)).collect();
        let mut group_bits = Box::new([0; 1024]);
        for literal in &literals {
            for group in literal.bytes.array_windows::<3>().take(GROUP_STRIDE_BYTES) {
                let [a, b, c] = *group;
                let (word, bit) = group_position([a, b, c, 0]);
                if let Some(word) = group_bits.get_mut(word) {
                    *word |= 1 << bit;
                }
            }
        }
        Self { literals, heads, group_bits }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.literals.is_empty()
    }

    /// Finds the first value that starts at `from` or later. If several start there, returns the longest.
    fn find_value(&self, data: &[u8], from: usize, end: StreamEnd) -> ValueMatch<'_> {
        let searched = data.get(from + GROUP_STRIDE_BYTES - 1..).unwrap_or_default();
        let (blocks, rest) = searched.as_chunks::<SEARCH_BLOCK_BYTES>();
        let mut first = from;
        for block in blocks {
            if self.has_any_group(block) {
                match self.find_first_between(data, first, first + SEARCH_BLOCK_BYTES, end) {
                    ValueMatch::Nothing => {}
                    found @ (ValueMatch::Undecided { .. } | ValueMatch::Value { .. }) => return found,
                }
            }
            first += SEARCH_BLOCK_BYTES;
        }
        debug_assert!(rest.len() < SEARCH_BLOCK_BYTES);
        self.find_first_between(data, first, data.len(), end)
    }

    /// Checks four groups at once. This is the hot path.
    fn has_any_group(&self, block: &[u8; SEARCH_BLOCK_BYTES]) -> bool {
        let [a, b, c, d, _, _, e, f, g, h, _, _, i, j, k, l, _, _, m, n, o, p, ..] = *block;
        self.group_bit([a, b, c, d])
            | self.group_bit([e, f, g, h])
            | self.group_bit([i, j, k, l])
            | self.group_bit([m, n, o, p])
            != 0
    }

    fn group_bit(&self, group: [u8; 4]) -> u64 {
        let (word, bit) = group_position(group);
        self.group_bits.get(word).copied().unwrap_or_default() >> bit & 1
    }

    fn find_first_between(&self, data: &[u8], first: usize, last: usize, end: StreamEnd) -> ValueMatch<'_> {
        for start in first..last.min(data.len()) {
            match self.match_literal(data.get(start..).unwrap_or_default(), end) {
                LiteralMatch::Nothing => {}
                LiteralMatch::Undecided => return ValueMatch::Undecided { start },
                LiteralMatch::Value { length, literal_index: mark } => {
                    let mark = self.literals.get(mark).map(|literal| literal.mark.as_str()).unwrap_or_default();
                    return ValueMatch::Value { start, length, mark };
                }
            }
        }
        ValueMatch::Nothing
    }

    fn match_literal(&self, rest: &[u8], end: StreamEnd) -> LiteralMatch {
        let Some(wanted) = head_bytes(rest) else { return self.match_short_rest(rest, end) };
        let first = self.heads.partition_point(|head| *head < wanted);
        let mut best = LiteralMatch::Nothing;
        for (index, literal) in self.literals.iter().enumerate().skip(first) {
            if self.heads.get(index) != Some(&wanted) {
                break;
            }
            if rest.starts_with(&literal.bytes) {
                // The literals are sorted, so a later match is longer.
                best = LiteralMatch::Value { length: literal.bytes.len(), literal_index: index };
            } else if end == StreamEnd::Open && literal.bytes.starts_with(rest) {
                return LiteralMatch::Undecided;
            }
        }
        best
    }

    /// Handles a rest that is shorter than any value: it may be the start of one.
    fn match_short_rest(&self, rest: &[u8], end: StreamEnd) -> LiteralMatch {
        let next = self.literals.partition_point(|literal| literal.bytes.as_slice() < rest);
        let begins = self.literals.get(next).is_some_and(|literal| literal.bytes.starts_with(rest));
        if begins && end == StreamEnd::Open { LiteralMatch::Undecided } else { LiteralMatch::Nothing }
    }
}

fn literals_of(secret: &NamedSecret) -> impl Iterator<Item = SecretLiteral> {
    let mark = secret.redaction_mark();
    value_forms::all_forms(&secret.value).into_iter().map(move |bytes| SecretLiteral { bytes, mark: mark.clone() })
}

fn head_bytes(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|head| u64::from_be_bytes(*head))
}

/// Returns the word and the bit of a group. The fourth byte is ignored.
fn group_position(group: [u8; 4]) -> (usize, u32) {
    let hash = (u32::from_le_bytes(group) & 0x00FF_FFFF).wrapping_mul(0x9E37_79B1) >> 16;
    ((hash >> 6) as usize & 1023, hash & 63)
}

/// Whether more input may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamEnd {
    Open,
    Reached,
}

/// The state of one stream.
#[derive(Debug, Default)]
pub(super) struct ValueRedactor {
    /// The start of a possible value.
    held: HeldBytes,
    look_behind: LookBehind,
}

impl ValueRedactor {
    pub(super) fn push(&mut self, values: &ValueDictionary, piece: &[u8], out: ByteSink<'_>) {
        let mut held = core::mem::take(&mut self.held);
        held.push(piece, |data| self.redact_decided(values, data, StreamEnd::Open, out).len());
        self.held = held;
    }

    pub(super) fn finish(&mut self, values: &ValueDictionary, out: ByteSink<'_>) {
        let all = self.held.take();
        self.redact_decided(values, &all, StreamEnd::Reached, out);
    }

    pub(super) fn pending_bytes(&self) -> usize {
        self.held.len()
    }

    /// Writes everything that is decided and returns the rest.
    fn redact_decided<'a>(
        &mut self,
        values: &ValueDictionary,
        data: &'a [u8],
        end: StreamEnd,
        out: ByteSink<'_>,
    ) -> &'a [u8] {
        let mut done = 0;
        loop {
            match values.find_value(data, done, end) {
                ValueMatch::Nothing => {
                    out(self.advance_look_behind(data, done, data.len()));
                    return &[];
                }
                ValueMatch::Undecided { start } => {
                    out(self.advance_look_behind(data, done, start));
                    return data.get(start..).unwrap_or_default();
                }
                ValueMatch::Value { start, length, mark } => {
                    out(self.advance_look_behind(data, done, start));
                    done = start + length;
                    self.write_mark(data.get(start..done).unwrap_or_default(), mark, out);
                }
            }
        }
    }

    /// Writes the mark instead of a value. Bytes that complete an open escape are kept: half an escape would make the
    /// surrounding JSON invalid.
    fn write_mark(&mut self, value: &[u8], mark: &str, out: ByteSink<'_>) {
        let open = self.look_behind.open_escape_len(value);
        out(value.get(..open).unwrap_or_default());
        out(mark.as_bytes());
        self.look_behind = self.look_behind.advanced_by(value);
    }

    fn advance_look_behind<'a>(&mut self, data: &'a [u8], from: usize, to: usize) -> &'a [u8] {
        let passed = data.get(from..to).unwrap_or_default();
        self.look_behind = self.look_behind.advanced_by(passed);
        passed
    }
}
