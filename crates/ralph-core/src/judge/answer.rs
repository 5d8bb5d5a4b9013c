//! What a judge answered. What has not the form that was asked for is no answer.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::Deserialize;

use super::material::{Fence, Material};
use crate::evidence::Finding;

/// A longer answer is none.
const LONGEST: usize = 256 * 1024;

/// Fewer letters than this stand everywhere, and prove nothing unless they are a whole line.
const SHORTEST_QUOTATION: usize = 10;
/// Fewer letters than this are no line that says something.
const SHORTEST_LINE: usize = 3;

/// A usable answer: one finding for each criterion, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub findings: Vec<Finding>,
    /// The findings that do not count as they are.
    pub doubts: Vec<Doubt>,
}

/// A finding whose quotation does not stand behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    pub criterion: String,
    pub lack: Lack,
}

/// What is wrong with a quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// It was not in the material.
    Invented,
    /// It is so short that it stands everywhere.
    Short,
    /// Nothing but the agent's own report has these words.
    Word,
    /// These words are in lines that the work took away.
    Removed,
}

impl Answer {
    /// Returns what is wrong with the quotation for a criterion.
    #[must_use]
    pub fn lack(&self, criterion: &str) -> Option<Lack> {
        self.doubts.iter().find(|doubt| doubt.criterion == criterion).map(|doubt| doubt.lack)
    }
}

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error("the judge said nothing")]
    Empty,
    #[error("the judge's answer is too long")]
    TooLong,
    #[error("the judge did not answer with the JSON that was asked for: {why}")]
    NotAsAsked { why: String },
    #[error("the judge's answer carries another id than the question")]
    OtherId,
    #[error("the judge has no finding for the criterion {criterion:?}")]
    Missing { criterion: String },
    #[error("the judge has two findings for the criterion {criterion:?}")]
    Twice { criterion: String },
    #[error("the judge has a finding for criterion {number}, which nobody asked about")]
    Unasked { number: i64 },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    findings: Vec<WrittenFinding>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFinding {
    criterion: i64,
    met: bool,
    quotation: String,
    reason: String,
}

/// Reads the answer to a question about these criteria and this material.
pub fn read_answer(
    text: &str,
    criteria: &[String],
    material: &Material,
    fence: &Fence,
) -> Result<Answer, Unusable> {
    let written = parse(text)?;
    if written.id != fence.as_str() {
        return Err(Unusable::OtherId);
    }
    let is_asked = |number: i64| usize::try_from(number).is_ok_and(|at| (1..=criteria.len()).contains(&at));
    if let Some(finding) = written.findings.iter().find(|finding| !is_asked(finding.criterion)) {
        return Err(Unusable::Unasked { number: finding.criterion });
    }
    let mut answer = Answer { findings: Vec::new(), doubts: Vec::new() };
    for (criterion, number) in criteria.iter().zip(1_i64..) {
        let finding = only(&written.findings, criterion, number)?;
        let lack = lack(finding, material);
        answer.doubts.extend(lack.map(|lack| Doubt { criterion: criterion.clone(), lack }));
        answer.findings.push(Finding {
            criterion: criterion.clone(),
            met: finding.met,
            quotation: finding.quotation.clone(),
            reason: finding.reason.clone(),
        });
    }
    Ok(answer)
}

fn parse(text: &str) -> Result<Written, Unusable> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Unusable::Empty);
    }
    if text.len() > LONGEST {
        return Err(Unusable::TooLong);
    }
    serde_json::from_str(unwrapped(text)).map_err(|error| Unusable::NotAsAsked { why: error.to_string() })
}

/// Models like to put JSON into a code block. That is the only wrapping that is taken off.
fn unwrapped(text: &str) -> &str {
    let inside = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inside.and_then(|inside| inside.strip_suffix("```")).map_or(text, str::trim)
}

fn only<'a>(
    findings: &'a [WrittenFinding],
    criterion: &str,
    number: i64,
) -> Result<&'a WrittenFinding, Unusable> {
    let mut about = findings.iter().filter(|finding| finding.criterion == number);
    let criterion = || criterion.to_string();
    match (about.next(), about.next()) {
        (None, _) => Err(Unusable::Missing { criterion: criterion() }),
        (Some(_), Some(_)) => Err(Unusable::Twice { criterion: criterion() }),
        (Some(finding), None) => Ok(finding),
    }
}

/// What is met must be shown by the work or by a check; what is missing need not be, but nothing may be invented.
fn lack(finding: &WrittenFinding, material: &Material) -> Option<Lack> {
    let quotation = finding.quotation.trim();
    if quotation.is_empty() && !finding.met {
        return None;
    }
    if quotation.is_empty() || !material.holds(quotation) {
        return Some(Lack::Invented);
    }
    if !finding.met {
        return None;
    }
    match (material.shows(quotation), material.reports(quotation)) {
        (true, _) => (!is_telling(quotation, material)).then_some(Lack::Short),
        (false, true) => Some(Lack::Word),
        (false, false) => Some(Lack::Removed),
    }
}

fn is_telling(quotation: &str, material: &Material) -> bool {
    let letters = quotation.chars().filter(|c| !c.is_whitespace()).count();
    letters >= SHORTEST_QUOTATION || letters >= SHORTEST_LINE && material.shows_line(quotation)
}
