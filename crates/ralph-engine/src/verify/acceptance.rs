//! How a run's claims are accepted beside its criteria: what must not change meanwhile.
use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ralph_core::isolation::Isolation;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Acceptance {
    /// Files that must not change before a claim; `!` before a pattern leaves files out.
    pub guard: Vec<String>,
    /// Sealed files that may change all the same.
    pub allow_changes: Vec<String>,
    pub isolation: Isolation,
    /// Commands that make a fresh checkout fit for the checks.
    pub setup: Vec<String>,
    /// Folders of the work tree that a fresh checkout borrows.
    pub share: Vec<String>,
    /// Whether a check that accepted is looked at again although nothing has changed since.
    pub is_always_fresh: bool,
}

/// A pattern that is none.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern is empty")]
    Empty,
    #[error("the pattern {pattern:?} leads out of the work tree")]
    Outside { pattern: String },
    #[error("the pattern {pattern:?} cannot be understood")]
    Malformed { pattern: String, source: globset::Error },
}

/// What programs leave behind wherever they run; nobody guards it who does not name it.
const BY_PRODUCTS: &[&str] =
    &["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules", ".DS_Store"];

/// Patterns for files, as they are written in a `.gitignore`: of those that match, the last one decides.
#[derive(Debug, Clone)]
pub struct Patterns {
    written: Vec<String>,
    /// Two for each pattern: what it names, and all that is in it.
    globs: GlobSet,
}

impl Patterns {
    pub fn compile(patterns: &[String]) -> Result<Self, PatternError> {
        let mut globs = GlobSetBuilder::new();
        for pattern in patterns {
            add(&mut globs, pattern.strip_prefix('!').unwrap_or(pattern))?;
        }
        let malformed = |source| PatternError::Malformed { pattern: patterns.join(", "), source };
        Ok(Self { written: patterns.to_vec(), globs: globs.build().map_err(malformed)? })
    }

    /// Returns the patterns of by-products, but for those that these patterns name themselves.
    pub fn by_products_beside(guard: &[String]) -> Result<Self, PatternError> {
        let is_named =
            |product: &str| guard.iter().any(|pattern| pattern.split('/').any(|part| part == product));
        let others = BY_PRODUCTS.iter().filter(|product| !is_named(product));
        Self::compile(&others.map(|&product| product.to_owned()).collect::<Vec<_>>())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.written.iter().all(|pattern| pattern.starts_with('!'))
    }

    /// Tells whether a path, from the root of the work tree, is meant.
    #[must_use]
    pub fn cover(&self, path: &str) -> bool {
        let last = self.globs.matches(path).into_iter().max();
        last.and_then(|glob| self.written.get(glob / 2)).is_some_and(|pattern| !pattern.starts_with('!'))
    }

    /// Returns the patterns that mean none of these paths.
    pub(super) fn idle<'a>(&'a self, paths: &[&str]) -> Vec<&'a str> {
        let used: BTreeSet<usize> =
            paths.iter().flat_map(|path| self.globs.matches(path)).map(|glob| glob / 2).collect();
        let idle = self.written.iter().enumerate().filter(|(number, _)| !used.contains(number));
        idle.map(|(_, pattern)| pattern.as_str()).filter(|pattern| !pattern.starts_with('!')).collect()
    }
}

/// A pattern without a slash means files of that name in every folder; one that names a folder means all that is in it.
fn add(set: &mut GlobSetBuilder, pattern: &str) -> Result<(), PatternError> {
    let anchored = pattern.trim_start_matches("./");
    let plain = anchored.trim_start_matches('/').trim_end_matches('/');
    if plain.is_empty() {
        return Err(PatternError::Empty);
    }
    if plain.split('/').any(|part| part == "..") {
        return Err(PatternError::Outside { pattern: pattern.to_owned() });
    }
    let is_anywhere = !anchored.trim_end_matches('/').contains('/');
    let glob = if is_anywhere { format!("**/{plain}") } else { plain.to_owned() };
    for glob in [glob.clone(), format!("{glob}/**")] {
        let built = GlobBuilder::new(&glob).literal_separator(true).build();
        set.add(built.map_err(|source| PatternError::Malformed { pattern: pattern.to_owned(), source })?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(patterns: &[&str]) -> Patterns {
        Patterns::compile(&patterns.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    // spec: V9
    #[test]
    fn patterns_mean_what_they_mean_in_a_gitignore() {
        let cases: &[(&[&str], &[&str], &[&str])] = &[
            (&["tests"], &["tests/a.rs", "tests/b/c.rs", "sub/tests/d"], &["src/tests.rs"]),
            (&["/tests"], &["tests/a.rs"], &["sub/tests/d"]),
            (&["tests/**", "!tests/data/"], &["tests/a.rs"], &["tests/data/x", "src/tests/a"]),
            (&["*.snap"], &["a.snap", "b/c.snap"], &["a.snap.rs"]),
            (&["./ci/*.yml"], &["ci/a.yml"], &["ci/sub/a.yml", "a.yml"]),
            (
                &["tests", "!tests/data", "tests/data/keep"],
                &["tests/a", "tests/data/keep"],
                &["tests/data/x"],
            ),
            (&["!tests/data", "tests"], &["tests/data/x", "tests/a"], &["src/a"]),
        ];
        for (written, covered, others) in cases {
            let patterns = patterns(written);
            assert!(covered.iter().all(|path| patterns.cover(path)), "{written:?}");
            assert!(!others.iter().any(|path| patterns.cover(path)), "{written:?}");
        }
        assert!(patterns(&[]).is_empty());
    }

    // spec: V9
    #[test]
    fn what_is_no_pattern_is_refused() {
        for wrong in ["", "/", "!", "a/../../b", "a[", "{a"] {
            assert!(Patterns::compile(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    // spec: V9
    #[test]
    fn a_pattern_that_means_nothing_is_found_and_a_by_product_counts_where_it_is_named() {
        let guard = patterns(&["tests", "tets/**", "!none", "*.snap"]);
        assert_eq!(guard.idle(&["tests/a", "b.snap"]), ["tets/**"]);
        assert_eq!(guard.idle(&[]), ["tests", "tets/**", "*.snap"]);
        let beside = |guard: &str| Patterns::by_products_beside(&[guard.to_owned()]).unwrap();
        assert!(beside("tests/**").cover("tests/node_modules/a"));
        assert!(!beside("tests/node_modules/**").cover("tests/node_modules/a"));
        assert!(!beside("tests").cover("tests/a.pyc"), "only Python itself puts what it compiles elsewhere");
    }
}
