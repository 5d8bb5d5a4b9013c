//! Finds the positions where a secret may start by its shape. Searches for all anchors in one pass.
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::secret_shape::{SECRET_SHAPES, SecretShape};
use super::value_redactor::StreamEnd;

#[derive(Debug)]
pub(super) struct AnchorSearch {
    /// `None` only if the automaton cannot be built, which a test excludes.
    automaton: Option<AhoCorasick>,
}

/// Where a secret may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnchorCandidate {
    Nowhere,
    /// The position of an anchor.
    Anchor(usize),
    /// The position of the first part of an anchor at the end of the data.
    Unfinished(usize),
}

impl AnchorSearch {
    pub(super) fn new() -> Self {
        let anchors = SECRET_SHAPES.iter().map(|shape| shape.anchor);
        let mut builder = AhoCorasick::builder();
        // The prefilter skips nearly all input, so the automaton that builds fastest is the best one.
        builder.match_kind(MatchKind::LeftmostFirst).kind(Some(AhoCorasickKind::NoncontiguousNFA));
        Self { automaton: builder.build(anchors).ok() }
    }

    /// Returns the first candidate at `from` or later.
    pub(super) fn find_candidate(&self, data: &[u8], from: usize, end: StreamEnd) -> AnchorCandidate {
        let found =
            self.automaton.as_ref().and_then(|search| search.find(Input::new(data).range(from.min(data.len())..)));
        match found {
            Some(found) => AnchorCandidate::Anchor(found.start()),
            None if end == StreamEnd::Reached => AnchorCandidate::Nowhere,
            None => find_unfinished_anchor(data, from),
        }
    }
}

/// Checks whether the data ends with the first part of an anchor.
fn find_unfinished_anchor(data: &[u8], from: usize) -> AnchorCandidate {
    let first = data.len().saturating_sub(longest_anchor_len() - 1).max(from);
    let starts = first..data.len();
    let found = starts.into_iter().find(|start| {
        let rest = data.get(*start..).unwrap_or_default();
        SECRET_SHAPES.iter().any(|shape| shares_first_byte(shape, rest) && shape.anchor.as_bytes().starts_with(rest))
    });
    found.map_or(AnchorCandidate::Nowhere, AnchorCandidate::Unfinished)
}

/// A cheap test that excludes most shapes.
fn shares_first_byte(shape: &SecretShape, rest: &[u8]) -> bool {
    shape.anchor.as_bytes().first() == rest.first()
}

fn longest_anchor_len() -> usize {
    SECRET_SHAPES.iter().map(|shape| shape.anchor.len()).max().unwrap_or(1)
}

/// Returns the shapes whose anchor matches these bytes. At the end of the data, a partial match is enough.
pub(super) fn shapes_at(rest: &[u8]) -> impl Iterator<Item = &'static SecretShape> {
    let short = rest.len() < longest_anchor_len();
    SECRET_SHAPES.iter().filter(move |shape| {
        let anchor = shape.anchor.as_bytes();
        shares_first_byte(shape, rest) && (rest.starts_with(anchor) || short && anchor.starts_with(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_automaton_can_be_built_and_finds_every_anchor() {
        let anchors = AnchorSearch::new();
        for shape in SECRET_SHAPES {
            let text = alloc::format!("  {}", shape.anchor);
            assert_eq!(
                anchors.find_candidate(text.as_bytes(), 0, StreamEnd::Reached),
                AnchorCandidate::Anchor(2),
                "{}",
                shape.anchor
            );
            let cut = &text.as_bytes()[..text.len() - 1];
            let found = anchors.find_candidate(cut, 0, StreamEnd::Open);
            assert!(
                matches!(found, AnchorCandidate::Unfinished(2) | AnchorCandidate::Anchor(2)),
                "{}: {found:?}",
                shape.anchor
            );
        }
    }
}
