//! What findings come to.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::answer::{Answer, Doubt, Lack};
use super::material::plain;
use crate::claim::clean;
use crate::evidence::{Finding, Verdict};

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

/// Returns verdict and reason. A criterion that is found unmet, or that nothing shows, outranks one whose quotation is no
/// quotation.
#[must_use]
pub fn weigh(answer: &Answer) -> (Verdict, String) {
    let is_unmet = |finding: &&Finding| !finding.met && answer.lack(&finding.criterion).is_none();
    if let Some(finding) = answer.findings.iter().find(is_unmet) {
        let why = if finding.reason.is_empty() { String::new() } else { format!(" ({})", finding.reason) };
        return (Verdict::Rejected, format!("Criterion not evident: {}{why}", finding.criterion));
    }
    let weighed = answer.doubts.iter().map(doubted);
    let is_rejected = |(verdict, _): &(Verdict, String)| *verdict == Verdict::Rejected;
    let weighed: Vec<_> = weighed.collect();
    let decides = weighed.iter().find(|weighed| is_rejected(weighed)).or(weighed.first());
    decides.cloned().unwrap_or_else(|| (Verdict::Accepted, "All criteria appear met".to_string()))
}

/// Whoever takes the agent's word has seen nothing. Whoever invents has not looked.
fn doubted(Doubt { criterion, lack }: &Doubt) -> (Verdict, String) {
    match lack {
        Lack::Word | Lack::Removed => {
            (Verdict::Rejected, format!("Criterion not evident: {criterion} ({})", lack.words()))
        }
        Lack::Invented | Lack::Short => {
            let reason = format!("the judge's quotation for {criterion:?} {}", lack.words());
            (Verdict::CouldNotEvaluate, reason)
        }
    }
}

impl Lack {
    /// Says it of the quotation, or of what it is about.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Invented => "is not in what it was shown",
            Self::Short => "is too short to show anything",
            Self::Word => "nothing but the agent's own report says so",
            Self::Removed => "the judge quoted only what was removed",
        }
    }
}
