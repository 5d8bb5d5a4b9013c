//! What a judge is shown: bounded, and behind a fence that whoever wrote it cannot have known.
use alloc::format;
use alloc::string::{String, ToString};

use crate::evidence::CheckEvidence;
use crate::text::{text_head, text_tail};

const MAX_REPORT_BYTES: usize = 32 * 1024;
/// How much of the difference a judge sees.
pub const MAX_DIFF_BYTES: usize = 128 * 1024;
const MAX_CHECKS_BYTES: usize = 16 * 1024;
/// How much of one check's output a judge sees.
const MAX_CHECK_OUTPUT_BYTES: usize = 2 * 1024;

/// Stands before each line that a check printed.
const PRINTED_LINE_PREFIX: &str = "| ";

/// The material of one judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeMaterial {
    pub report: String,
    pub diff: String,
    pub checks: String,
}

/// A mark that stands around the material. It is made after the material, from dice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaterialBoundary(String);

impl MaterialBoundary {
    #[must_use]
    pub fn from_random(random: u128) -> Self {
        Self(format!("{random:032x}"))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl JudgeMaterial {
    /// Keeps of everything what a judge can read: beginning and end.
    #[must_use]
    pub fn new(report: &str, diff: &str, check_results: &[CheckEvidence]) -> Self {
        let checks: String = check_results.iter().map(|check| format_check(check, "")).collect();
        Self {
            report: truncate_middle(report, MAX_REPORT_BYTES),
            diff: truncate_middle(diff, MAX_DIFF_BYTES),
            checks: truncate_middle(&checks, MAX_CHECKS_BYTES),
        }
    }

    /// Tells whether these words stand anywhere in it, however the white space between them is written, and with or
    /// without the signs at the beginning of a diff's lines.
    #[must_use]
    pub fn contains_text(&self, words: &str) -> bool {
        self.report_contains(words)
            || appears_in(words, &self.diff, strip_diff_sign)
            || appears_in(words, &self.checks, strip_check_prefix)
    }

    /// Tells whether the agent's own report holds these words.
    #[must_use]
    pub fn report_contains(&self, words: &str) -> bool {
        collapse_whitespace(&self.report).contains(&collapse_whitespace(words))
    }

    /// Tells whether the work as it is now, or a check, shows these words. A whole hunk may be quoted; what was removed
    /// in it shows nothing.
    #[must_use]
    pub fn work_shows(&self, words: &str) -> bool {
        let is_there = |words: &str| {
            !collapse_whitespace(words).is_empty()
                && (appears_in(words, &self.remaining_diff(), strip_diff_sign)
                    || appears_in(words, &self.checks, strip_check_prefix))
        };
        is_there(words) || is_there(&drop_removed_lines(words))
    }

    /// Tells whether these words are a whole line of what `shows` looks at.
    #[must_use]
    pub fn work_shows_line(&self, words: &str) -> bool {
        let words = collapse_whitespace(words);
        let kept = self.remaining_diff();
        let is_it = |line: &str, bare: fn(&str) -> &str| {
            collapse_whitespace(line) == words || collapse_whitespace(bare(line)) == words
        };
        kept.lines().any(|line| is_it(line, strip_diff_sign))
            || self.checks.lines().any(|line| is_it(line, strip_check_prefix))
    }

    fn remaining_diff(&self) -> String {
        drop_removed_lines(&self.diff)
    }
}

/// Tells whether words stand in a text as it is, or without the sign at the beginning of each line.
fn appears_in(words: &str, text: &str, strip_line: fn(&str) -> &str) -> bool {
    let words = collapse_whitespace(words);
    let lines = text.lines().flat_map(|line| [strip_line(line), "\n"]);
    collapse_whitespace(text).contains(&words) || collapse_whitespace(&lines.collect::<String>()).contains(&words)
}

fn strip_diff_sign(line: &str) -> &str {
    line.strip_prefix(['+', '-']).unwrap_or(line)
}

fn strip_check_prefix(line: &str) -> &str {
    line.trim_start_matches([' ', '|'])
}

fn drop_removed_lines(diff: &str) -> String {
    diff.lines().filter(|line| !line.starts_with('-')).flat_map(|line| [line, "\n"]).collect()
}

/// What a command printed has a sign before each line: none of them can pass for the result of another check.
fn format_check(check: &CheckEvidence, indent: &str) -> String {
    let name = check.name.as_ref().map_or_else(String::new, |name| format!("{}: ", collapse_whitespace(name)));
    let (verdict, reason) = (check.verdict.as_str(), collapse_whitespace(&check.reason));
    let mut text = format!("{indent}{name}{} -> {verdict}: {reason}\n", collapse_whitespace(&check.command));
    if check.stages.is_empty() {
        let printed = text_tail(&check.tail, MAX_CHECK_OUTPUT_BYTES).lines();
        printed.for_each(|line| text.push_str(&format!("{indent}{PRINTED_LINE_PREFIX}{line}\n")));
    }
    check.stages.iter().for_each(|stage| text.push_str(&format_check(stage, "  ")));
    text
}

/// Returns the text, or its beginning and its end with a mark between them.
fn truncate_middle(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_string();
    }
    let head = text_head(text, max_bytes / 2);
    let tail = text_tail(text, max_bytes / 2);
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[... {left_out} bytes left out ...]\n{tail}")
}

/// Writes every stretch of white space as one blank.
pub(super) fn collapse_whitespace(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    plain
}
