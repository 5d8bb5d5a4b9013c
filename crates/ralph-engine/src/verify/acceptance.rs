//! The rules for accepting claims in addition to the criteria: which files must not change, and where checks run.
use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ralph_core::agent_work_commit::CommitMode;
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::protected::TestProtection;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AcceptancePolicy {
    /// Patterns for files that must not change before a claim; a leading `!` excludes files.
    pub guard: Vec<String>,
    /// Patterns for sealed files and protected tests that may change nevertheless.
    pub allow_changes: Vec<String>,
    pub isolation: CheckIsolation,
    /// Commands that prepare a fresh checkout for the checks.
    pub setup: Vec<String>,
    /// Folders of the work tree that are linked into a fresh checkout.
    pub share: Vec<String>,
    /// The consequence of a change of a protected test.
    pub tests: TestProtection,
    /// Whether ralph or the agent commits the work. Only in the work tree of a task.
    pub commit: CommitMode,
    /// The commit that a judging role sent back: the coder's work must differ from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_back_commit: Option<String>,
    /// The commit that a person accepted in an earlier stage: its tests are the protected ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_by_person: Option<String>,
    /// Whether a check that accepted runs again although nothing has changed since.
    pub is_always_fresh: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    #[error("the pattern is empty")]
    Empty,
    #[error("the pattern {pattern:?} leads out of the work tree")]
    OutsideWorktree { pattern: String },
    #[error("invalid pattern {pattern:?}")]
    Malformed { pattern: String, source: globset::Error },
}

/// Files and folders that tools create wherever they run. They are guarded only if a pattern names them.
const BY_PRODUCT_NAMES: &[&str] =
    &["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules", ".DS_Store"];

/// Patterns for files in the syntax of a `.gitignore`: the last pattern that matches decides.
#[derive(Debug, Clone)]
pub struct PathPatterns {
    sources: Vec<String>,
    /// Two for each pattern: one for the path itself, one for everything below it.
    globs: GlobSet,
}

impl PathPatterns {
    pub fn compile(patterns: &[String]) -> Result<Self, PatternError> {
        let mut globs = GlobSetBuilder::new();
        for pattern in patterns {
            add_glob(&mut globs, pattern.strip_prefix('!').unwrap_or(pattern))?;
        }
        let malformed = |source| PatternError::Malformed { pattern: patterns.join(", "), source };
        Ok(Self { sources: patterns.to_vec(), globs: globs.build().map_err(malformed)? })
    }

    /// Returns the patterns of by-products, except those that a guard pattern names.
    pub fn by_products_except(guard: &[String]) -> Result<Self, PatternError> {
        let is_named = |product: &str| guard.iter().any(|pattern| pattern.split('/').any(|part| part == product));
        let others = BY_PRODUCT_NAMES.iter().filter(|product| !is_named(product));
        Self::compile(&others.map(|&product| product.to_owned()).collect::<Vec<_>>())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sources.iter().all(|pattern| pattern.starts_with('!'))
    }

    /// Returns whether a path, relative to the root of the work tree, matches.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let last = self.globs.matches(path).into_iter().max();
        last.and_then(|glob| self.sources.get(glob / 2)).is_some_and(|pattern| !pattern.starts_with('!'))
    }

    /// Returns the patterns that match none of these paths.
    pub(super) fn unmatched_patterns<'a>(&'a self, paths: &[&str]) -> Vec<&'a str> {
        let used: BTreeSet<usize> =
            paths.iter().flat_map(|path| self.globs.matches(path)).map(|glob| glob / 2).collect();
        let unmatched = self.sources.iter().enumerate().filter(|(number, _)| !used.contains(number));
        unmatched.map(|(_, pattern)| pattern.as_str()).filter(|pattern| !pattern.starts_with('!')).collect()
    }
}

/// Adds a pattern. Without a slash it matches in every folder; if it matches a folder, it matches everything below it.
fn add_glob(set: &mut GlobSetBuilder, pattern: &str) -> Result<(), PatternError> {
    let anchored = pattern.trim_start_matches("./");
    let plain = anchored.trim_start_matches('/').trim_end_matches('/');
    if plain.is_empty() {
        return Err(PatternError::Empty);
    }
    if plain.split('/').any(|part| part == "..") {
        return Err(PatternError::OutsideWorktree { pattern: pattern.to_owned() });
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

    fn compile_patterns(patterns: &[&str]) -> PathPatterns {
        PathPatterns::compile(&patterns.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    // spec: V9
    #[test]
    fn patterns_match_as_in_a_gitignore() {
        let cases: &[(&[&str], &[&str], &[&str])] = &[
            (&["tests"], &["tests/a.rs", "tests/b/c.rs", "sub/tests/d"], &["src/tests.rs"]),
            (&["/tests"], &["tests/a.rs"], &["sub/tests/d"]),
            (&["tests/**", "!tests/data/"], &["tests/a.rs"], &["tests/data/x", "src/tests/a"]),
            (&["*.snap"], &["a.snap", "b/c.snap"], &["a.snap.rs"]),
            (&["./ci/*.yml"], &["ci/a.yml"], &["ci/sub/a.yml", "a.yml"]),
            (&["tests", "!tests/data", "tests/data/keep"], &["tests/a", "tests/data/keep"], &["tests/data/x"]),
            (&["!tests/data", "tests"], &["tests/data/x", "tests/a"], &["src/a"]),
        ];
        for (written, covered, others) in cases {
            let patterns = compile_patterns(written);
            assert!(covered.iter().all(|path| patterns.matches(path)), "{written:?}");
            assert!(!others.iter().any(|path| patterns.matches(path)), "{written:?}");
        }
        assert!(compile_patterns(&[]).is_empty());
    }

    // spec: V9
    #[test]
    fn malformed_patterns_are_refused() {
        for wrong in ["", "/", "!", "a/../../b", "a[", "{a"] {
            assert!(PathPatterns::compile(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    // spec: V9
    #[test]
    fn unmatched_patterns_are_found_and_named_by_products_are_guarded() {
        let guard = compile_patterns(&["tests", "tets/**", "!none", "*.snap"]);
        assert_eq!(guard.unmatched_patterns(&["tests/a", "b.snap"]), ["tets/**"]);
        assert_eq!(guard.unmatched_patterns(&[]), ["tests", "tets/**", "*.snap"]);
        let by_products = |guard: &str| PathPatterns::by_products_except(&[guard.to_owned()]).unwrap();
        assert!(by_products("tests/**").matches("tests/node_modules/a"));
        assert!(!by_products("tests/node_modules/**").matches("tests/node_modules/a"));
        assert!(!by_products("tests").matches("tests/a.pyc"), "a .pyc file outside __pycache__ is not a by-product");
    }
}
