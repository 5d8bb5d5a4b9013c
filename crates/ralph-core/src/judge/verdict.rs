//! What findings come to.
use alloc::format;
use alloc::string::{String, ToString};

use super::answer::Answer;
use crate::evidence::Verdict;

/// Returns the first pattern that stands in the agent's words, in any letter case.
#[must_use]
pub fn found_negative<'a>(patterns: &'a [String], words: &str) -> Option<&'a str> {
    let words = words.to_lowercase();
    let is_there = |pattern: &&String| !pattern.is_empty() && words.contains(&pattern.to_lowercase());
    patterns.iter().find(is_there).map(String::as_str)
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
        None => (Verdict::Accepted, "All criteria appear met".to_string()),
    }
}
