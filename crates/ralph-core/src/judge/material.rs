//! What a judge is shown: bounded, and behind a fence that whoever wrote it cannot have known.
use alloc::format;
use alloc::string::{String, ToString};

use crate::evidence::CheckEvidence;
use crate::text::tail_of;

const REPORT_BYTES: usize = 32 * 1024;
const DIFF_BYTES: usize = 128 * 1024;
const CHECKS_BYTES: usize = 16 * 1024;
/// How much of one check's output a judge sees.
const OUTPUT_BYTES: usize = 2 * 1024;

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

    /// Tells whether these words stand in it, however the white space between them is written, and with or without
    /// the signs at the beginning of a diff's lines.
    #[must_use]
    pub fn holds(&self, words: &str) -> bool {
        let words = plain(words);
        let without_signs: String =
            self.diff.lines().flat_map(|line| [line.trim_start_matches(['+', '-']), "\n"]).collect();
        let is_in = |text: &String| plain(text).contains(&words);
        [&self.report, &self.diff, &self.checks, &without_signs].into_iter().any(is_in)
    }
}

fn told(check: &CheckEvidence, indent: &str) -> String {
    let name = check.name.as_ref().map_or_else(String::new, |name| format!("{name}: "));
    let (verdict, reason) = (check.verdict.as_str(), &check.reason);
    let mut text = format!("{indent}{name}{} -> {verdict}: {reason}\n", check.command);
    if check.stages.is_empty() && !check.tail.is_empty() {
        text.push_str(tail_of(&check.tail, OUTPUT_BYTES));
        text.push('\n');
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

fn head_of(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

/// Writes every stretch of white space as one blank.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !plain.is_empty() {
            plain.push(' ');
        }
        plain.push_str(word);
    }
    plain
}
