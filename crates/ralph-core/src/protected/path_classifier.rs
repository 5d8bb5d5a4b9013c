//! Classifies many paths: the patterns of the tables are grouped by a letter that a matching path must contain, so that most of
//! them are not compared.
use alloc::vec::Vec;

use super::path_pattern::matches_pattern;
use super::{ECOSYSTEMS, ProtectedKind};

/// A pattern of the tables. The kind of the first pattern that matches counts.
#[derive(Clone, Copy)]
struct RankedPattern {
    rank: usize,
    pattern: &'static str,
    kind: ProtectedKind,
}

/// The patterns of all ecosystems, prepared for many paths.
pub struct PathClassifier {
    /// The patterns whose first part begins with a letter, by this letter.
    by_first_letter: Vec<Vec<RankedPattern>>,
    /// The other patterns for names that end with a letter, by this letter.
    by_last_letter: Vec<Vec<RankedPattern>>,
    others: Vec<RankedPattern>,
}

impl Default for PathClassifier {
    fn default() -> Self {
        Self::new()
    }
}

impl PathClassifier {
    #[must_use]
    pub fn new() -> Self {
        let empty = || Vec::from_iter((0..=u8::MAX).map(|_| Vec::new()));
        let mut classifier = Self { by_first_letter: empty(), by_last_letter: empty(), others: Vec::new() };
        for (rank, (pattern, kind)) in ranked_patterns().enumerate() {
            classifier.add(RankedPattern { rank, pattern, kind });
        }
        classifier
    }

    fn add(&mut self, ranked: RankedPattern) {
        let pattern = ranked.pattern.strip_prefix('/').unwrap_or(ranked.pattern).as_bytes();
        let is_letter = |byte: &&u8| !matches!(byte, b'*' | b'?');
        let is_name = !ranked.pattern.contains('/');
        let (first, last) = (pattern.first().filter(is_letter), pattern.last().filter(is_letter).filter(|_| is_name));
        let group = match (first, last) {
            (Some(first), _) => self.by_first_letter.get_mut(usize::from(*first)),
            (None, Some(last)) => self.by_last_letter.get_mut(usize::from(*last)),
            (None, None) => None,
        };
        group.unwrap_or(&mut self.others).push(ranked);
    }

    /// Returns why a path, relative to the root of the work tree, is protected. A file that decides is more than a test.
    #[must_use]
    pub fn classify(&self, path: &str) -> Option<ProtectedKind> {
        let parts = path.split('/');
        let of_parts = parts.filter_map(|part| self.by_first_letter.get(usize::from(*part.as_bytes().first()?)));
        let of_end = path.as_bytes().last().and_then(|last| self.by_last_letter.get(usize::from(*last)));
        let candidates = of_parts.chain(of_end).flatten().chain(&self.others);
        let matching = candidates.filter(|candidate| matches_pattern(candidate.pattern, path));
        matching.min_by_key(|candidate| candidate.rank).map(|candidate| candidate.kind)
    }
}

/// Returns all patterns. Those that decide come first, and manifests last.
pub(super) fn ranked_patterns() -> impl Iterator<Item = (&'static str, ProtectedKind)> {
    let deciding = ECOSYSTEMS.iter().flat_map(|ecosystem| ecosystem.deciding);
    let tests = ECOSYSTEMS.iter().flat_map(|ecosystem| ecosystem.tests);
    let manifests = ECOSYSTEMS.iter().flat_map(|ecosystem| ecosystem.manifests);
    let manifests = manifests.map(|(pattern, kind)| (*pattern, ProtectedKind::Manifest(*kind)));
    let of_kind = |kind| move |pattern: &&'static str| (*pattern, kind);
    deciding.map(of_kind(ProtectedKind::Deciding)).chain(tests.map(of_kind(ProtectedKind::Test))).chain(manifests)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::protected::classify_path;

    /// A path that a pattern matches, or nearly so.
    fn part() -> impl Strategy<Value = String> {
        let patterns: Vec<&str> = ranked_patterns().map(|(pattern, _)| pattern.trim_start_matches('/')).collect();
        (select(patterns), select(std::vec!["", "a", "tests", "x.y"]))
            .prop_map(|(pattern, filler)| pattern.replace("**", "any").replace(['*', '?'], filler))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

        // spec: V15
        #[test]
        fn a_path_is_classified_as_by_comparing_every_pattern(parts in prop::collection::vec(part(), 1..4)) {
            let (classifier, path) = (PathClassifier::new(), parts.join("/"));
            prop_assert_eq!(classifier.classify(&path), classify_path(&path), "{}", path);
        }
    }
}
