//! The material that a judge is shown: truncated, and delimited by a random boundary that its author cannot know.
use alloc::format;
use alloc::string::{String, ToString};

use crate::evidence::CheckEvidence;
use crate::text::{text_head, text_tail};

const MAX_REPORT_BYTES: usize = 32 * 1024;
/// The limit for the diff.
pub const MAX_DIFF_BYTES: usize = 128 * 1024;
const MAX_CHECKS_BYTES: usize = 16 * 1024;
/// The limit for the output of one check.
const MAX_CHECK_OUTPUT_BYTES: usize = 2 * 1024;

/// Prefix of each line that a check printed.
const PRINTED_LINE_PREFIX: &str = "| ";

/// The material for one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeMaterial {
    pub report: String,
    pub diff: String,
    pub checks: String,
}

/// A random mark around each part of the material. It is generated after the material was written.
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
    /// Truncates each part to its limit, keeping the start and the end.
    #[must_use]
    pub fn new(report: &str, diff: &str, check_results: &[CheckEvidence]) -> Self {
        let checks: String = check_results.iter().map(|check| format_check(check, "")).collect();
        Self {
            report: truncate_middle(report, MAX_REPORT_BYTES),
            diff: truncate_middle(diff, MAX_DIFF_BYTES),
            checks: truncate_middle(&checks, MAX_CHECKS_BYTES),
        }
    }

    /// Returns whether the text occurs anywhere in the material. White space and the signs of diff lines are ignored.
    #[must_use]
    pub fn contains_text(&self, text: &str) -> bool {
        self.report_contains(text)
            || appears_in(text, &self.diff, strip_diff_sign)
            || appears_in(text, &self.checks, strip_check_prefix)
    }

    /// Returns whether the text occurs in the agent's report.
    #[must_use]
    pub fn report_contains(&self, text: &str) -> bool {
        collapse_whitespace(&self.report).contains(&collapse_whitespace(text))
    }

    /// Returns whether the text occurs in a check result, or in the diff without its removed lines. The text may be a
    /// whole hunk: removed lines in it are ignored.
    #[must_use]
    pub fn work_shows(&self, text: &str) -> bool {
        let occurs = |text: &str| {
            !collapse_whitespace(text).is_empty()
                && (appears_in(text, &self.remaining_diff(), strip_diff_sign)
                    || appears_in(text, &self.checks, strip_check_prefix))
        };
        occurs(text) || occurs(&drop_removed_lines(text))
    }

    /// Like [`Self::work_shows`], but the text must be a whole line.
    #[must_use]
    pub fn work_shows_line(&self, text: &str) -> bool {
        let text = collapse_whitespace(text);
        let remaining = self.remaining_diff();
        let is_same = |line: &str, strip_line: fn(&str) -> &str| {
            collapse_whitespace(line) == text || collapse_whitespace(strip_line(line)) == text
        };
        remaining.lines().any(|line| is_same(line, strip_diff_sign))
            || self.checks.lines().any(|line| is_same(line, strip_check_prefix))
    }

    fn remaining_diff(&self) -> String {
        drop_removed_lines(&self.diff)
    }
}

/// Returns whether `quoted` occurs in the text, with or without the sign at the start of each line.
fn appears_in(quoted: &str, text: &str, strip_line: fn(&str) -> &str) -> bool {
    let quoted = collapse_whitespace(quoted);
    let lines = text.lines().flat_map(|line| [strip_line(line), "\n"]);
    collapse_whitespace(text).contains(&quoted) || collapse_whitespace(&lines.collect::<String>()).contains(&quoted)
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

/// Formats one check result. Output lines get a prefix, so that none of them can imitate the result of another check.
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

/// Returns the text, or its start and end with a note about the omitted bytes between them.
fn truncate_middle(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_string();
    }
    let head = text_head(text, max_bytes / 2);
    let tail = text_tail(text, max_bytes / 2);
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[... {left_out} bytes left out ...]\n{tail}")
}

/// Replaces each run of white space by one space, and trims the text.
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
