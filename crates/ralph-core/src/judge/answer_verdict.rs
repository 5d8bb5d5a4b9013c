//! What findings come to.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::judge_answer::{DoubtedFinding, JudgeAnswer, QuotationProblem};
use super::judge_material::collapse_whitespace;
use crate::claim::strip_terminal_codes;
use crate::evidence::{JudgeFinding, Verdict};

/// Returns the first pattern that stands in the agent's words as people see them, in any letter case and however the white
/// space in it is written.
#[must_use]
pub fn find_negative_pattern<'a>(patterns: &'a [String], words: &str) -> Option<&'a str> {
    let words = strip_terminal_codes(words).to_lowercase();
    let in_one_line = collapse_whitespace(&words);
    let is_there = |pattern: &&String| {
        let pattern = pattern.to_lowercase();
        let is_plain = || !pattern.trim().is_empty() && in_one_line.contains(&collapse_whitespace(&pattern));
        !pattern.is_empty() && (words.contains(&pattern) || is_plain())
    };
    patterns.iter().find(is_there).map(String::as_str)
}

/// Returns verdict and reason. A criterion that is found unmet, or that nothing shows, outranks one whose quotation is no
/// quotation.
#[must_use]
pub fn decide_verdict(answer: &JudgeAnswer) -> (Verdict, String) {
    let is_unmet = |finding: &&JudgeFinding| !finding.met && answer.quotation_problem(&finding.criterion).is_none();
    if let Some(finding) = answer.findings.iter().find(is_unmet) {
        let why = if finding.reason.is_empty() { String::new() } else { format!(" ({})", finding.reason) };
        return (Verdict::Rejected, format!("Criterion not evident: {}{why}", finding.criterion));
    }
    let weighed = answer.doubted_findings.iter().map(verdict_on_doubted);
    let is_rejected = |(verdict, _): &(Verdict, String)| *verdict == Verdict::Rejected;
    let weighed: Vec<_> = weighed.collect();
    let decides = weighed.iter().find(|weighed| is_rejected(weighed)).or(weighed.first());
    decides.cloned().unwrap_or_else(|| (Verdict::Accepted, "All criteria appear met".to_string()))
}

/// Whoever takes the agent's word has seen nothing. Whoever invents has not looked.
fn verdict_on_doubted(DoubtedFinding { criterion, problem: lack }: &DoubtedFinding) -> (Verdict, String) {
    match lack {
        QuotationProblem::OnlyInReport | QuotationProblem::OnlyInRemovedLines => {
            (Verdict::Rejected, format!("Criterion not evident: {criterion} ({})", lack.as_phrase()))
        }
        QuotationProblem::NotInMaterial | QuotationProblem::TooShort => {
            let reason = format!("the judge's quotation for {criterion:?} {}", lack.as_phrase());
            (Verdict::CouldNotEvaluate, reason)
        }
    }
}

impl QuotationProblem {
    /// Says it of the quotation, or of what it is about.
    #[must_use]
    pub fn as_phrase(self) -> &'static str {
        match self {
            Self::NotInMaterial => "is not in what it was shown",
            Self::TooShort => "is too short to show anything",
            Self::OnlyInReport => "nothing but the agent's own report says so",
            Self::OnlyInRemovedLines => "the judge quoted only what was removed",
        }
    }
}
