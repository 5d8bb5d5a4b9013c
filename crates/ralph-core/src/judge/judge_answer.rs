//! Reads the answer of a judge. An answer in any other format than the requested one is an error.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::judge_material::{JudgeMaterial, MaterialBoundary};
use crate::evidence::JudgeFinding;

/// A longer answer is an error.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// A shorter quotation could come from anywhere. It proves nothing unless it is a whole line.
const MIN_QUOTATION_LETTERS: usize = 10;
/// A line with fewer letters proves nothing, for example `}`.
const MIN_LINE_LETTERS: usize = 3;

/// A valid answer: one finding for each criterion, in the same order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeAnswer {
    pub findings: Vec<JudgeFinding>,
    /// The findings whose quotation does not support them.
    pub doubted_findings: Vec<DoubtedFinding>,
}

/// A finding whose quotation does not support it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoubtedFinding {
    pub criterion: String,
    pub problem: QuotationProblem,
}

/// Why a quotation does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotationProblem {
    /// It does not occur in the material.
    NotInMaterial,
    /// It is too short to prove anything.
    TooShort,
    /// It occurs only in the agent's report.
    OnlyInReport,
    /// It occurs only in removed lines of the diff.
    OnlyInRemovedLines,
}

impl JudgeAnswer {
    /// Returns the problem with the quotation for a criterion, if there is one.
    #[must_use]
    pub fn quotation_problem(&self, criterion: &str) -> Option<QuotationProblem> {
        self.doubted_findings.iter().find(|doubt| doubt.criterion == criterion).map(|doubt| doubt.problem)
    }
}

/// Why an answer is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeAnswerError {
    #[error("the judge's answer is empty")]
    Empty,
    #[error("the judge's answer is too long")]
    TooLong,
    #[error("the judge's answer is not the requested JSON: {reason}")]
    InvalidFormat { reason: String },
    #[error("the judge's answer does not have the id of the question")]
    WrongId,
    #[error("the judge's answer has no finding for the criterion {criterion:?}")]
    Missing { criterion: String },
    #[error("the judge's answer has two findings for the criterion {criterion:?}")]
    Duplicate { criterion: String },
    #[error("the judge's answer has a finding for criterion {number}, which is not in the question")]
    UnknownCriterion { number: i64 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerJson {
    id: String,
    findings: Vec<FindingJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingJson {
    criterion: i64,
    met: bool,
    quotation: String,
    reason: String,
}

/// Reads and validates the answer to a question about these criteria and this material.
pub fn read_answer(
    text: &str,
    criteria: &[String],
    material: &JudgeMaterial,
    boundary: &MaterialBoundary,
) -> Result<JudgeAnswer, JudgeAnswerError> {
    let parsed = parse_json(text)?;
    if parsed.id != boundary.as_str() {
        return Err(JudgeAnswerError::WrongId);
    }
    let is_asked = |number: i64| usize::try_from(number).is_ok_and(|at| (1..=criteria.len()).contains(&at));
    if let Some(finding) = parsed.findings.iter().find(|finding| !is_asked(finding.criterion)) {
        return Err(JudgeAnswerError::UnknownCriterion { number: finding.criterion });
    }
    let mut answer = JudgeAnswer { findings: Vec::new(), doubted_findings: Vec::new() };
    for (criterion, number) in criteria.iter().zip(1_i64..) {
        let finding = single_finding(&parsed.findings, criterion, number)?;
        let problem = find_quotation_problem(finding, material);
        answer.doubted_findings.extend(problem.map(|problem| DoubtedFinding { criterion: criterion.clone(), problem }));
        answer.findings.push(JudgeFinding {
            criterion: criterion.clone(),
            met: finding.met,
            quotation: finding.quotation.clone(),
            reason: finding.reason.clone(),
        });
    }
    Ok(answer)
}

fn parse_json(text: &str) -> Result<AnswerJson, JudgeAnswerError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(JudgeAnswerError::Empty);
    }
    if text.len() > MAX_ANSWER_BYTES {
        return Err(JudgeAnswerError::TooLong);
    }
    serde_json::from_str(strip_code_block(text))
        .map_err(|error| JudgeAnswerError::InvalidFormat { reason: error.to_string() })
}

/// Removes a code block around the JSON, which many models add. Any other text around it is an error.
fn strip_code_block(text: &str) -> &str {
    let inside = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inside.and_then(|inside| inside.strip_suffix("```")).map_or(text, str::trim)
}

fn single_finding<'a>(
    findings: &'a [FindingJson],
    criterion: &str,
    number: i64,
) -> Result<&'a FindingJson, JudgeAnswerError> {
    let mut matching = findings.iter().filter(|finding| finding.criterion == number);
    let criterion = || criterion.to_string();
    match (matching.next(), matching.next()) {
        (None, _) => Err(JudgeAnswerError::Missing { criterion: criterion() }),
        (Some(_), Some(_)) => Err(JudgeAnswerError::Duplicate { criterion: criterion() }),
        (Some(finding), None) => Ok(finding),
    }
}

/// Checks the quotation of a finding. A met criterion needs a quotation from the work or from a check result. An unmet
/// criterion may have an empty quotation, but not an invented one.
fn find_quotation_problem(finding: &FindingJson, material: &JudgeMaterial) -> Option<QuotationProblem> {
    let quotation = finding.quotation.trim();
    if quotation.is_empty() && !finding.met {
        return None;
    }
    if quotation.is_empty() || !material.contains_text(quotation) {
        return Some(QuotationProblem::NotInMaterial);
    }
    if !finding.met {
        return None;
    }
    match (material.work_shows(quotation), material.report_contains(quotation)) {
        (true, _) => (!is_long_enough(quotation, material)).then_some(QuotationProblem::TooShort),
        (false, true) => Some(QuotationProblem::OnlyInReport),
        (false, false) => Some(QuotationProblem::OnlyInRemovedLines),
    }
}

fn is_long_enough(quotation: &str, material: &JudgeMaterial) -> bool {
    let letters = quotation.chars().filter(|c| !c.is_whitespace()).count();
    letters >= MIN_QUOTATION_LETTERS || letters >= MIN_LINE_LETTERS && material.work_shows_line(quotation)
}
