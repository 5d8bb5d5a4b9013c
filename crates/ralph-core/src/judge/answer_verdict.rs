//! Turns the findings of a judge into a verdict.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::judge_answer::{DoubtedFinding, JudgeAnswer, QuotationProblem};
use super::judge_material::collapse_whitespace;
use crate::claim::strip_terminal_codes;
use crate::evidence::{JudgeFinding, ReasonedVerdict, Verdict};

/// Returns the first pattern that occurs in the agent's output. Ignores letter case, terminal codes and differences in
/// white space.
#[must_use]
pub fn find_negative_pattern<'a>(patterns: &'a [String], output: &str) -> Option<&'a str> {
    let output = strip_terminal_codes(output).to_lowercase();
    let in_one_line = collapse_whitespace(&output);
    let occurs = |pattern: &&String| {
        let pattern = pattern.to_lowercase();
        let occurs_in_line = || !pattern.trim().is_empty() && in_one_line.contains(&collapse_whitespace(&pattern));
        !pattern.is_empty() && (output.contains(&pattern) || occurs_in_line())
    };
    patterns.iter().find(occurs).map(String::as_str)
}

/// Returns the verdict. An unmet or unproven criterion takes precedence over an invalid quotation.
#[must_use]
pub fn decide_verdict(answer: &JudgeAnswer) -> ReasonedVerdict {
    let is_unmet = |finding: &&JudgeFinding| !finding.met && answer.quotation_problem(&finding.criterion).is_none();
    if let Some(finding) = answer.findings.iter().find(is_unmet) {
        let detail = if finding.reason.is_empty() { String::new() } else { format!(" ({})", finding.reason) };
        let reason = format!("Criterion not evident: {}{detail}", finding.criterion);
        return ReasonedVerdict::new(Verdict::Rejected, reason);
    }
    let doubted: Vec<_> = answer.doubted_findings.iter().map(verdict_on_doubted).collect();
    let rejection = doubted.iter().find(|doubted| doubted.verdict == Verdict::Rejected);
    let accepted = || ReasonedVerdict::new(Verdict::Accepted, "All criteria appear met");
    rejection.or(doubted.first()).cloned().unwrap_or_else(accepted)
}

/// A quotation of the agent's report, or of removed lines, proves nothing: rejected. An invented or too short quotation
/// shows that the judge did not read the material: could not evaluate.
fn verdict_on_doubted(DoubtedFinding { criterion, problem }: &DoubtedFinding) -> ReasonedVerdict {
    match problem {
        QuotationProblem::OnlyInReport | QuotationProblem::OnlyInRemovedLines => {
            let reason = format!("Criterion not evident: {criterion} ({})", problem.as_phrase());
            ReasonedVerdict::new(Verdict::Rejected, reason)
        }
        QuotationProblem::NotInMaterial | QuotationProblem::TooShort => {
            let reason = format!("the judge's quotation for {criterion:?} {}", problem.as_phrase());
            ReasonedVerdict::new(Verdict::CouldNotEvaluate, reason)
        }
    }
}

impl QuotationProblem {
    /// Returns a phrase for messages. Its subject is the quotation, or the phrase is a full clause.
    #[must_use]
    pub fn as_phrase(self) -> &'static str {
        match self {
            Self::NotInMaterial => "is not in the material that it was shown",
            Self::TooShort => "is too short to prove anything",
            Self::OnlyInReport => "only the agent's report says so",
            Self::OnlyInRemovedLines => "the judge quoted only removed lines",
        }
    }
}
