//! Tests inside source files, such as `#[cfg(test)]` modules and doc tests. They cannot be restored without the code around
//! them, so they are not protected: a claim only says which of them the work changed.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::path_pattern::matches_pattern;

/// How the inline tests of a language are written.
struct InlineTestSyntax {
    files: &'static [&'static str],
    /// A line with such a mark begins tests that last until the end of the file.
    module_marks: &'static [&'static str],
    /// How a line of documentation begins; empty if there is no such mark.
    comment_marks: &'static [&'static str],
    /// The content of a block of documentation with a test.
    example_marks: &'static [&'static str],
}

const SYNTAXES: &[InlineTestSyntax] = &[
    InlineTestSyntax {
        files: &["*.rs"],
        module_marks: &["#[cfg(test)]", "#[cfg(all(test", "#[test]", "#[tokio::test"],
        comment_marks: &["///", "//!"],
        example_marks: &["```"],
    },
    InlineTestSyntax { files: &["*.py"], module_marks: &[], comment_marks: &[], example_marks: &[">>> "] },
    InlineTestSyntax {
        files: &["*.js", "*.ts", "*.jsx", "*.tsx", "*.mjs"],
        module_marks: &["import.meta.vitest"],
        comment_marks: &[],
        example_marks: &[],
    },
    InlineTestSyntax {
        files: &["*.zig"],
        module_marks: &["test \"", "test {"],
        comment_marks: &[],
        example_marks: &[],
    },
    InlineTestSyntax { files: &["*.ex"], module_marks: &[], comment_marks: &[], example_marks: &["iex>"] },
    InlineTestSyntax { files: &["*.d"], module_marks: &["unittest"], comment_marks: &[], example_marks: &[] },
];

/// The change of a source file with inline tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlineTestChange {
    pub path: String,
    /// Whether tests that existed before the work were changed or removed. New ones are welcome.
    pub are_tests_changed: bool,
}

impl InlineTestChange {
    /// Returns the change as a sentence without a period.
    #[must_use]
    pub fn describe(&self) -> String {
        let Self { path, are_tests_changed } = self;
        match are_tests_changed {
            true => format!("the work changed inline tests in {path}"),
            false => format!("{path} has inline tests"),
        }
    }
}

/// Returns whether a source file is written in a language that has inline tests.
#[must_use]
pub fn may_have_inline_tests(path: &str) -> bool {
    find_syntax(path).is_some()
}

/// Compares the inline tests of a changed source file; `None` if it had none before the work.
#[must_use]
pub fn find_inline_test_change(path: &str, base: &str, claimed: &str) -> Option<InlineTestChange> {
    let syntax = find_syntax(path)?;
    let before = syntax.list_tests(base);
    if before.is_empty() {
        return None;
    }
    let now = syntax.list_blocks(claimed);
    let are_tests_changed = before.iter().any(|test| !now.contains(test));
    Some(InlineTestChange { path: path.into(), are_tests_changed })
}

fn find_syntax(path: &str) -> Option<&'static InlineTestSyntax> {
    SYNTAXES.iter().find(|syntax| syntax.files.iter().any(|pattern| matches_pattern(pattern, path)))
}

fn has_any(text: &str, marks: &[&str]) -> bool {
    marks.iter().any(|mark| text.contains(mark))
}

impl InlineTestSyntax {
    /// Returns the blocks of a text that are tests.
    fn list_tests(&self, text: &str) -> Vec<String> {
        let mut is_in_module = false;
        let mut tests = Vec::new();
        for block in self.list_blocks(text) {
            is_in_module |= has_any(&block, self.module_marks);
            if is_in_module || has_any(&block, self.example_marks) {
                tests.push(block);
            }
        }
        tests
    }

    /// Splits a text into blocks: paragraphs, and runs of documentation lines. Imports and the end of a module may change
    /// when a test is added.
    fn list_blocks(&self, text: &str) -> Vec<String> {
        let is_comment = |line: &str| self.comment_marks.iter().any(|mark| line.starts_with(mark));
        let mut blocks: Vec<String> = Vec::new();
        let (mut block, mut is_documentation) = (String::new(), false);
        for line in text.lines().chain([""]) {
            let trimmed = line.trim();
            if trimmed.is_empty() || is_comment(trimmed) != is_documentation {
                blocks.extend((!block.is_empty()).then(|| core::mem::take(&mut block)));
            }
            is_documentation = is_comment(trimmed);
            if line != "}" && !trimmed.is_empty() && !trimmed.starts_with("use ") {
                block.push_str(&(trimmed.to_string() + "\n"));
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &str = "/// Adds.\n///\n/// ```\n/// assert_eq!(a::add(1, 1), 2);\n/// ```\nfn add() {\n    1\n}\n\n\
                        #[cfg(test)]\nmod tests {\n    use super::add;\n\n    #[test]\n    fn one() {\n        \
                        assert!(add());\n    }\n}\n";

    fn change(path: &str, base: &str, claimed: &str) -> Option<bool> {
        find_inline_test_change(path, base, claimed).map(|change| change.are_tests_changed)
    }

    // spec: V15
    #[test]
    fn changed_inline_tests_are_found_and_new_ones_are_welcome() {
        let more = RUST.replace("    }\n}\n", "    }\n\n    #[test]\n    fn two() {}\n}\n");
        for (claimed, is_changed) in [
            (RUST.replace("    1\n", "    2\n"), false),
            (RUST.replace("super::add", "super::{add, sub}"), false),
            (more, false),
            (RUST.replace("assert!(add())", "assert!(true)"), true),
            (RUST.replace("    #[test]\n", "    #[ignore]\n    #[test]\n"), true),
            (RUST.replace("#[cfg(test)]", "#[cfg(any())]"), true),
            (RUST.replace("/// assert_eq!(a::add(1, 1), 2);", "/// # assert!(true);"), true),
            (RUST.replace("/// ```\n/// assert", "/// ```ignore\n/// assert"), true),
            (String::new(), true),
        ] {
            assert_eq!(change("src/lib.rs", RUST, &claimed), Some(is_changed), "{claimed}");
        }
        assert_eq!(change("src/a.py", "def a():\n  \"\"\"\n  >>> a()\n  1\n", ""), Some(true));
        assert_eq!(change("src/lib.rs", "fn add() {}\n", RUST), None, "there were none");
        assert_eq!(change("README.md", RUST, ""), None);
    }
}
