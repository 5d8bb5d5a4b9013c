//! What a judge answered. What has not the form that was asked for is no answer.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::judge_material::{JudgeMaterial, MaterialBoundary};
use crate::evidence::JudgeFinding;

/// A longer answer is none.
const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// Fewer letters than this stand everywhere, and prove nothing unless they are a whole line.
const MIN_QUOTATION_LETTERS: usize = 10;
/// Fewer letters than this are no line that says something.
const MIN_LINE_LETTERS: usize = 3;

/// A usable answer: one finding for each criterion, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeAnswer {
    pub findings: Vec<JudgeFinding>,
    /// The findings that do not count as they are.
    pub doubted_findings: Vec<DoubtedFinding>,
}

/// A finding whose quotation does not stand behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoubtedFinding {
    pub criterion: String,
    pub problem: QuotationProblem,
}

/// What is wrong with a quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotationProblem {
    /// It was not in the material.
    NotInMaterial,
    /// It is so short that it stands everywhere.
    TooShort,
    /// Nothing but the agent's own report has these words.
    OnlyInReport,
    /// These words are in lines that the work took away.
    OnlyInRemovedLines,
}

impl JudgeAnswer {
    /// Returns what is wrong with the quotation for a criterion.
    #[must_use]
    pub fn quotation_problem(&self, criterion: &str) -> Option<QuotationProblem> {
        self.doubted_findings.iter().find(|doubt| doubt.criterion == criterion).map(|doubt| doubt.problem)
    }
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeAnswerError {
    #[error("the judge said nothing")]
    Empty,
    #[error("the judge's answer is too long")]
    TooLong,
    #[error("the judge did not answer with the JSON that was asked for: {reason}")]
    InvalidFormat { reason: String },
    #[error("the judge's answer carries another id than the question")]
    WrongId,
    #[error("the judge has no finding for the criterion {criterion:?}")]
    Missing { criterion: String },
    #[error("the judge has two findings for the criterion {criterion:?}")]
    Duplicate { criterion: String },
    #[error("the judge has a finding for criterion {number}, which nobody asked about")]
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

/// Reads the answer to a question about these criteria and this material.
pub fn read_answer(
    text: &str,
    criteria: &[String],
    material: &JudgeMaterial,
    boundary: &MaterialBoundary,
) -> Result<JudgeAnswer, JudgeAnswerError> {
    let written = parse_json(text)?;
    if written.id != boundary.as_str() {
        return Err(JudgeAnswerError::WrongId);
    }
    let is_asked = |number: i64| usize::try_from(number).is_ok_and(|at| (1..=criteria.len()).contains(&at));
    if let Some(finding) = written.findings.iter().find(|finding| !is_asked(finding.criterion)) {
        return Err(JudgeAnswerError::UnknownCriterion { number: finding.criterion });
    }
    let mut answer = JudgeAnswer { findings: Vec::new(), doubted_findings: Vec::new() };
    for (criterion, number) in criteria.iter().zip(1_i64..) {
        let finding = single_finding(&written.findings, criterion, number)?;
        let lack = find_quotation_problem(finding, material);
        answer.doubted_findings.extend(lack.map(|lack| DoubtedFinding { criterion: criterion.clone(), problem: lack }));
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

/// Models like to put JSON into a code block. That is the only wrapping that is taken off.
fn strip_code_block(text: &str) -> &str {
    let inside = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inside.and_then(|inside| inside.strip_suffix("```")).map_or(text, str::trim)
}

fn single_finding<'a>(
    findings: &'a [FindingJson],
    criterion: &str,
    number: i64,
) -> Result<&'a FindingJson, JudgeAnswerError> {
    let mut about = findings.iter().filter(|finding| finding.criterion == number);
    let criterion = || criterion.to_string();
    match (about.next(), about.next()) {
        (None, _) => Err(JudgeAnswerError::Missing { criterion: criterion() }),
        (Some(_), Some(_)) => Err(JudgeAnswerError::Duplicate { criterion: criterion() }),
        (Some(finding), None) => Ok(finding),
    }
}

/// What is met must be shown by the work or by a check; what is missing need not be, but nothing may be invented.
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
