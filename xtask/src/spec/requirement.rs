//! Parses requirements: list items that begin with an id, such as `- L3 A claim on the last allowed iteration counts.`
use crate::error::{Result, XtaskError};

/// The id of a requirement: a letter and a number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequirementId(pub(super) String);

impl RequirementId {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix(|c: char| c.is_ascii_uppercase())?;
        let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
        is_number.then(|| Self(text.to_owned()))
    }
}

#[derive(Debug)]
pub(super) struct Requirement {
    pub(super) id: RequirementId,
    /// The first sentence, truncated.
    pub(super) summary: String,
}

const MAX_SUMMARY_CHARS: usize = 90;

pub(super) fn parse_requirements(document: &str) -> Vec<Requirement> {
    document.lines().filter_map(parse_requirement).collect()
}

fn parse_requirement(line: &str) -> Option<Requirement> {
    let (id, text) = line.strip_prefix("- ")?.split_once(' ')?;
    let sentence = text.split_inclusive(". ").next().unwrap_or(text).trim();
    let summary = match sentence.char_indices().nth(MAX_SUMMARY_CHARS) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    };
    Some(Requirement { id: RequirementId::parse(id)?, summary })
}

/// Parses one id per line; `#` starts a comment.
pub(super) fn parse_id_list(text: &str) -> Result<Vec<RequirementId>> {
    let entries = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    entries.filter(|entry| !entry.is_empty()).map(parse_id).collect()
}

/// Parses ids separated by commas.
pub(super) fn parse_comma_separated_ids(text: &str) -> Result<Vec<RequirementId>> {
    text.split(',').map(|entry| parse_id(entry.trim())).collect()
}

fn parse_id(text: &str) -> Result<RequirementId> {
    RequirementId::parse(text).ok_or_else(|| {
        XtaskError::new(format!("{text:?} is not a requirement id"))
            .with_hint("write a letter and a number, such as L3")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_items_that_begin_with_an_id_are_requirements() {
        let found = parse_requirements("- L1 A. B.\n- not one\n  - L2 nested\n- S10 `ralph detect` says.\ntext L3\n");
        let found: Vec<_> = found.iter().map(|found| (found.id.0.as_str(), found.summary.as_str())).collect();
        assert_eq!(found, [("L1", "A."), ("S10", "`ralph detect` says.")]);
    }

    #[test]
    fn lists_may_have_comments() {
        let expected = vec![RequirementId("L1".to_owned()), RequirementId("S11".to_owned())];
        assert_eq!(parse_id_list("# The loop\nL1\n\nS11 # audit\n"), Ok(expected));
        assert!(parse_id_list("L1 L2\n").is_err());
        assert!(parse_comma_separated_ids("L1,x").is_err());
    }
}
