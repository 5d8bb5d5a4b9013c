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

    /// Tells whether these words stand anywhere in it, however the white space between them is written, and with or
    /// without the signs at the beginning of a diff's lines.
    #[must_use]
    pub fn holds(&self, words: &str) -> bool {
        self.reports(words) || stands(words, &self.diff, diff_line) || stands(words, &self.checks, check_line)
    }

    /// Tells whether the agent's own report holds these words.
    #[must_use]
    pub fn reports(&self, words: &str) -> bool {
        plain(&self.report).contains(&plain(words))
    }

    /// Tells whether the work as it is now, or a check, shows these words. A whole hunk may be quoted; what was removed
    /// in it shows nothing.
    #[must_use]
    pub fn shows(&self, words: &str) -> bool {
        let is_there = |words: &str| {
            !plain(words).is_empty()
                && (stands(words, &self.kept(), diff_line) || stands(words, &self.checks, check_line))
        };
        is_there(words) || is_there(&without_removed(words))
    }

    /// Tells whether these words are a whole line of what `shows` looks at.
    #[must_use]
    pub fn shows_line(&self, words: &str) -> bool {
        let words = plain(words);
        let kept = self.kept();
        let is_it = |line: &str, bare: fn(&str) -> &str| plain(line) == words || plain(bare(line)) == words;
        kept.lines().any(|line| is_it(line, diff_line))
            || self.checks.lines().any(|line| is_it(line, check_line))
    }

    fn kept(&self) -> String {
        without_removed(&self.diff)
    }
}

/// Tells whether words stand in a text as it is, or without the sign at the beginning of each line.
fn stands(words: &str, text: &str, bare: fn(&str) -> &str) -> bool {
    let words = plain(words);
    let lines = text.lines().flat_map(|line| [bare(line), "\n"]);
    plain(text).contains(&words) || plain(&lines.collect::<String>()).contains(&words)
}

fn diff_line(line: &str) -> &str {
    line.strip_prefix(['+', '-']).unwrap_or(line)
}

fn check_line(line: &str) -> &str {
    line.trim_start_matches([' ', '|'])
}

fn without_removed(diff: &str) -> String {
    diff.lines().filter(|line| !line.starts_with('-')).flat_map(|line| [line, "\n"]).collect()
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
