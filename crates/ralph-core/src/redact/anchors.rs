//! Finds the places where a secret may begin by its shape: all anchors in one pass.
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::shape::{SHAPES, Shape};
use super::values::End;

#[derive(Debug)]
pub(super) struct Anchors {
    /// Absent only if the table cannot be built, which its test excludes.
    search: Option<AhoCorasick>,
}

/// Where a secret may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Candidate {
    Nowhere,
    /// Here is an anchor.
    Anchor(usize),
    /// Here an anchor may begin that the stream has not finished.
    Unfinished(usize),
}

impl Anchors {
    pub(super) fn new() -> Self {
        let anchors = SHAPES.iter().map(|shape| shape.anchor);
        let mut builder = AhoCorasick::builder();
        // Nearly everything is passed over before the automaton is asked: it is the one that is made fastest.
        builder.match_kind(MatchKind::LeftmostFirst).kind(Some(AhoCorasickKind::NoncontiguousNFA));
        Self { search: builder.build(anchors).ok() }
    }

    /// Returns the first candidate at `from` or later.
    pub(super) fn find(&self, data: &[u8], from: usize, end: End) -> Candidate {
        let found = self
            .search
            .as_ref()
            .and_then(|search| search.find(Input::new(data).range(from.min(data.len())..)));
        match found {
            Some(found) => Candidate::Anchor(found.start()),
            None if end == End::Reached => Candidate::Nowhere,
            None => unfinished(data, from),
        }
    }
}

/// Looks whether the data ends in the beginning of an anchor.
fn unfinished(data: &[u8], from: usize) -> Candidate {
    let first = data.len().saturating_sub(longest() - 1).max(from);
    let starts = first..data.len();
    let found = starts.into_iter().find(|start| {
        let rest = data.get(*start..).unwrap_or_default();
        SHAPES.iter().any(|shape| begins_alike(shape, rest) && shape.anchor.as_bytes().starts_with(rest))
    });
    found.map_or(Candidate::Nowhere, Candidate::Unfinished)
}

/// Tells most shapes apart without a closer look.
fn begins_alike(shape: &Shape, rest: &[u8]) -> bool {
    shape.anchor.as_bytes().first() == rest.first()
}

fn longest() -> usize {
    SHAPES.iter().map(|shape| shape.anchor.len()).max().unwrap_or(1)
}

/// Returns the shapes that may begin with these bytes, which may end too early.
pub(super) fn shapes_at(rest: &[u8]) -> impl Iterator<Item = &'static Shape> {
    let short = rest.len() < longest();
    SHAPES.iter().filter(move |shape| {
        let anchor = shape.anchor.as_bytes();
        begins_alike(shape, rest) && (rest.starts_with(anchor) || short && anchor.starts_with(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_built_and_every_anchor_is_found() {
        let anchors = Anchors::new();
        for shape in SHAPES {
            let text = alloc::format!("  {}", shape.anchor);
            assert_eq!(
                anchors.find(text.as_bytes(), 0, End::Reached),
                Candidate::Anchor(2),
                "{}",
                shape.anchor
            );
            let cut = &text.as_bytes()[..text.len() - 1];
            let found = anchors.find(cut, 0, End::Open);
            assert!(
                matches!(found, Candidate::Unfinished(2) | Candidate::Anchor(2)),
                "{}: {found:?}",
                shape.anchor
            );
        }
    }
}
