//! What a judge is shown: bounded, and behind a fence that whoever wrote it cannot have known.
use alloc::format;
use alloc::string::{String, ToString};

use crate::evidence::CheckEvidence;
use crate::text::{head_of, tail_of};

const REPORT_BYTES: usize = 32 * 1024;
/// How much of the difference a judge sees.
pub const DIFF_BYTES: usize = 128 * 1024;
const CHECKS_BYTES: usize = 16 * 1024;
/// How much of one check's output a judge sees.
const OUTPUT_BYTES: usize = 2 * 1024;

/// Stands before each line that a check printed.
const PRINTED: &str = "| ";

/// The material of one judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Material {
    pub report: String,
    pub diff: String,
    pub checks: String,
}

/// A mark that stands around the material. It is made after the material, from dice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence(String);

impl Fence {
    #[must_use]
    pub fn of(dice: u128) -> Self {
        Self(format!("{dice:032x}"))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Material {
    /// Keeps of everything what a judge can read: beginning and end.
    #[must_use]
    pub fn of(report: &str, diff: &str, seen: &[CheckEvidence]) -> Self {
        let checks: String = seen.iter().map(|check| told(check, "")).collect();
        Self {
            report: bounded(report, REPORT_BYTES),
            diff: bounded(diff, DIFF_BYTES),
            checks: bounded(&checks, CHECKS_BYTES),
        }
    }

    /// Tells whether nothing but the agent's own report holds these words.
    #[must_use]
    pub fn only_reports(&self, words: &str) -> bool {
        let report = String::new();
        self.holds(words) && !Self { report, ..self.clone() }.holds(words)
    }

    /// Tells whether these words stand in it, however the white space between them is written, and with or without
    /// the signs at the beginning of a diff's lines.
    #[must_use]
    pub fn holds(&self, words: &str) -> bool {
        let words = plain(words);
        let without = |text: &str, signs: &[char]| -> String {
            text.lines().flat_map(|line| [line.trim_start_matches(signs), "\n"]).collect()
        };
        let bare = [without(&self.diff, &['+', '-']), without(&self.checks, &[' ', '|'])];
        let is_in = |text: &String| plain(text).contains(&words);
        [&self.report, &self.diff, &self.checks].into_iter().chain(&bare).any(is_in)
    }
}

/// What a command printed has a sign before each line: none of them can pass for the result of another check.
fn told(check: &CheckEvidence, indent: &str) -> String {
    let name = check.name.as_ref().map_or_else(String::new, |name| format!("{}: ", plain(name)));
    let (verdict, reason) = (check.verdict.as_str(), plain(&check.reason));
    let mut text = format!("{indent}{name}{} -> {verdict}: {reason}\n", plain(&check.command));
    if check.stages.is_empty() {
        let printed = tail_of(&check.tail, OUTPUT_BYTES).lines();
        printed.for_each(|line| text.push_str(&format!("{indent}{PRINTED}{line}\n")));
    }
    check.stages.iter().for_each(|stage| text.push_str(&told(stage, "  ")));
    text
}

/// Returns the text, or its beginning and its end with a mark between them.
fn bounded(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_string();
    }
    let head = head_of(text, most / 2);
    let tail = tail_of(text, most / 2);
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[... {left_out} bytes left out ...]\n{tail}")
}

/// Writes every stretch of white space as one blank.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    plain
}
