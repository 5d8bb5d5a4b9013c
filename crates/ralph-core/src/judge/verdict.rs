//! What findings come to.
use alloc::format;
use alloc::string::String;

use super::answer::Answer;
use super::material::plain;
use crate::claim::clean;
use crate::evidence::Verdict;

/// Returns the first pattern that stands in the agent's words as people see them, in any letter case and however the white
/// space in it is written.
#[must_use]
pub fn found_negative<'a>(patterns: &'a [String], words: &str) -> Option<&'a str> {
    let words = clean(words).to_lowercase();
    let in_one_line = plain(&words);
    let is_there = |pattern: &&String| {
        let pattern = pattern.to_lowercase();
        let is_plain = || !pattern.trim().is_empty() && in_one_line.contains(&plain(&pattern));
        !pattern.is_empty() && (words.contains(&pattern) || is_plain())
    };
    patterns.iter().find(is_there).map(String::as_str)
}

/// People shall know where nothing but the agent's report was quoted.
fn by_word(answer: &Answer) -> String {
    match answer.by_word.as_slice() {
        [] => String::new(),
        by_word => format!("; by the agent's own word alone: {}", by_word.join(", ")),
    }
}

/// Returns verdict and reason. A criterion that is found unmet outranks one whose quotation is invented.
#[must_use]
pub fn weigh(answer: &Answer) -> (Verdict, String) {
    let counts = |criterion: &String| !answer.invented.contains(criterion);
    let unmet = answer.findings.iter().find(|finding| !finding.met && counts(&finding.criterion));
    if let Some(finding) = unmet {
        let why = if finding.reason.is_empty() { String::new() } else { format!(" ({})", finding.reason) };
        return (Verdict::Rejected, format!("Criterion not evident: {}{why}", finding.criterion));
    }
    match answer.invented.first() {
        Some(criterion) => {
            let reason = format!("the judge's quotation for {criterion:?} is not in what it was shown");
            (Verdict::CouldNotEvaluate, reason)
        }
        None => (Verdict::Accepted, format!("All criteria appear met{}", by_word(answer))),
    }
}
