//! Protected tests: which files of a work tree are tests or decide what a test command runs, and what a change of them
//! means for a claim.
mod build_files;
mod cmake_commands;
mod evidence;
mod inline_tests;
mod manifest;
mod manifest_keys;
mod path_classifier;
mod path_pattern;
mod recipes;
mod run_files;
mod sections;
mod tables;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use path_classifier::ranked_patterns;
use serde::{Deserialize, Serialize};

pub use evidence::{ProtectedFinding, ProtectedReport, protected_tests_evidence};
pub use inline_tests::{InlineTestChange, find_inline_test_change, may_have_inline_tests};
pub use manifest::ManifestKind;
pub use path_classifier::PathClassifier;
pub use path_pattern::matches_pattern;
pub use run_files::{RunFile, UnprotectedChanges, find_run_files};
pub use tables::{ECOSYSTEMS, Ecosystem};

/// The consequence of a change of a protected test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestProtection {
    /// The checks must also pass with the tests as they were before the work.
    #[default]
    Protect,
    /// The change is only named.
    Report,
    Off,
}

/// The protected files before the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedBase {
    /// The git tree of the work tree, with uncommitted files.
    pub tree: String,
    /// Deciding files that git ignores, so that the tree does not contain them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<IgnoredFile>,
}

/// A file that git ignores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoredFile {
    pub path: String,
    pub sha256: String,
}

/// Why a file is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedKind {
    Test,
    /// It decides what a test command runs.
    Deciding,
    /// Some parts of it decide.
    Manifest(ManifestKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileChange {
    Added,
    Removed,
    Modified,
}

/// A change of a protected file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedChange {
    pub path: String,
    pub change: FileChange,
    pub kind: ProtectedKind,
    /// Whether it is a manifest that cannot be parsed, so that any change of it counts.
    pub is_unparsed: bool,
}

impl ProtectedChange {
    #[must_use]
    pub fn new(path: String, change: FileChange, kind: ProtectedKind) -> Self {
        Self { path, change, kind, is_unparsed: false }
    }

    /// Returns the change as a sentence without a period.
    #[must_use]
    pub fn describe(&self) -> String {
        let change = match self.change {
            FileChange::Added => "added",
            FileChange::Removed => "removed",
            FileChange::Modified => "changed",
        };
        match self.kind {
            ProtectedKind::Manifest(_) if self.is_unparsed => {
                format!("{} was {change} and counts as a whole because it cannot be parsed", self.path)
            }
            ProtectedKind::Manifest(_) => format!("{} was {change} in parts that decide what tests run", self.path),
            ProtectedKind::Test | ProtectedKind::Deciding => format!("{} was {change}", self.path),
        }
    }
}

/// Returns why a path, relative to the root of the work tree, is protected. [`PathClassifier`] is for many paths.
#[must_use]
pub fn classify_path(path: &str) -> Option<ProtectedKind> {
    let found = ranked_patterns().find(|(pattern, _)| matches_pattern(pattern, path));
    found.map(|(_, kind)| kind)
}

/// Returns the change of a protected file, or `None` if the path is not protected or the change is welcome. `read_parts`
/// is called for a manifest only, with the contents of the base and the claim; a file that does not exist is empty.
#[must_use]
pub fn find_protected_change(
    path: &str,
    change: FileChange,
    read_contents: impl FnOnce() -> Option<ManifestContents>,
) -> Option<ProtectedChange> {
    let kind = classify_path(path)?;
    let found = ProtectedChange::new(path.into(), change, kind);
    match (kind, change) {
        (ProtectedKind::Test, FileChange::Added) => None,
        (ProtectedKind::Test, FileChange::Removed | FileChange::Modified) | (ProtectedKind::Deciding, _) => Some(found),
        (ProtectedKind::Manifest(manifest), change) => {
            // A manifest that cannot be read counts as a whole.
            let Some(ManifestContents { base, claimed }) = read_contents() else {
                return Some(ProtectedChange { is_unparsed: true, ..found });
            };
            let counts = match change {
                FileChange::Added => manifest.decides_when_added(&claimed),
                FileChange::Removed | FileChange::Modified => manifest.deciding_parts_differ(&base, &claimed),
            };
            let is_unparsed = !manifest.can_parse(&base) || !manifest.can_parse(&claimed);
            counts.then_some(ProtectedChange { is_unparsed, ..found })
        }
    }
}

/// Returns the names of files that decide what a test command runs, as far as they are fixed, relative to a folder in which
/// a command runs.
pub fn fixed_deciding_names() -> impl Iterator<Item = &'static str> {
    let patterns = ECOSYSTEMS.iter().flat_map(|ecosystem| ecosystem.deciding);
    patterns.map(|pattern| pattern.trim_start_matches('/')).filter(|pattern| !pattern.contains('*'))
}

/// The contents of a manifest before and after the work; empty if it does not exist.
#[derive(Debug, Clone, Default)]
pub struct ManifestContents {
    pub base: String,
    pub claimed: String,
}

impl TestProtection {
    pub const ALL: [Self; 3] = [Self::Protect, Self::Report, Self::Off];

    /// Returns the name used in configuration and records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Protect => "protect",
            Self::Report => "report",
            Self::Off => "off",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "tests/it.rs crates/a/tests/x/y.rs src/a.test.ts src/__tests__/a.js test/a.js test_a.py pkg/a_test.go \
        src/test/java/A.java spec/a_spec.rb tests/ATest.php App.Tests/A.cs a_test.cc tests/test.bats \
        lib/a_test.js lib/a-test.mjs lib/test-a.cjs test.js aSpec.ts a_spec.js src/a.e2e.ts \
        src/main/TestOrders.java OrdersTestCase.java a_test.exs Tests/a.swift";
    const DECIDING_FILES: &str = "Makefile GNUmakefile makefile sub/rules.mk justfile conftest.py tests/conftest.py pytest.ini tox.ini \
        sitecustomize.py .cargo/config.toml .cargo/config .npmrc jest.config.js .mocharc.yml \
        .config/nextest.toml go.work phpunit.xml Rakefile .rspec CTestTestfile.cmake a.runsettings \
        Directory.Build.props .github/workflows/ci.yml .gitlab-ci.yml unittest.py wdio.conf.ts Gruntfile.js \
        .yarn/releases/yarn.cjs manage.py build.xml buildSrc/a.gradle A.sln Makefile.inc \
        .pre-commit-config.yaml eslint.config.mjs mypy.ini .golangci.yml clippy.toml";
    const OTHER_FILES: &str = "src/main.rs README.md src/contest.py Cargo.lock package-lock.json testament.md src/latest.ts \
        src/contest.js";
    const MANIFESTS: &str = "Cargo.toml a/package.json pyproject.toml pom.xml App.csproj settings.gradle.kts gradle/tests.gradle \
        cmake/tests.cmake go.mod build.sbt lib/BUILD.bazel common.targets tsconfig.build.json";

    // spec: V15
    // finding: N3
    #[test]
    fn each_ecosystem_has_its_tests_and_deciding_files() {
        use ProtectedKind::{Deciding, Test};
        for (kind, paths) in [(Some(Test), TESTS), (Some(Deciding), DECIDING_FILES), (None, OTHER_FILES)] {
            for path in paths.split(' ') {
                assert_eq!(classify_path(path), kind, "{path}");
            }
        }
        for path in MANIFESTS.split(' ') {
            assert!(matches!(classify_path(path), Some(ProtectedKind::Manifest(_))), "{path}");
        }
    }

    // spec: V15
    #[test]
    fn new_tests_are_welcome_and_new_deciding_files_count() {
        let found = |path, change| find_protected_change(path, change, || None).map(|change| change.describe());
        assert_eq!(found("tests/new.rs", FileChange::Added), None);
        assert_eq!(found("tests/old.rs", FileChange::Modified).as_deref(), Some("tests/old.rs was changed"));
        assert_eq!(found("tests/old.rs", FileChange::Removed).as_deref(), Some("tests/old.rs was removed"));
        assert_eq!(found("conftest.py", FileChange::Added).as_deref(), Some("conftest.py was added"));
        assert_eq!(found("src/lib.rs", FileChange::Modified), None);
        let manifest = |base: &str, claimed: &str| {
            let contents = ManifestContents { base: base.into(), claimed: claimed.into() };
            find_protected_change("Cargo.toml", FileChange::Modified, || Some(contents)).is_some()
        };
        assert!(!manifest("[dependencies]\n", "[dependencies]\na = \"1\"\n"));
        assert!(manifest("[lib]\n", "[lib]\ntest = false\n"));
        let unparsed = "Cargo.toml was changed and counts as a whole because it cannot be parsed";
        assert_eq!(found("Cargo.toml", FileChange::Modified).as_deref(), Some(unparsed), "it cannot be read");
        let contents = ManifestContents { base: "{}".into(), claimed: "{".into() };
        let broken = find_protected_change("package.json", FileChange::Modified, || Some(contents)).unwrap();
        assert!(broken.describe().ends_with("counts as a whole because it cannot be parsed"));
    }
}
