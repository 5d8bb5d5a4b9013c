//! References in the texts of a workflow: outputs of nodes, inputs and variables. This module finds them; it replaces
//! nothing.
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use serde::{Deserialize, Serialize};

use super::node::NodeId;
use super::variables::WorkflowVariable;

/// A value that a node, an iteration or the caller gives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueReference {
    /// `$ID.output` or `$ID.output.field`.
    Output { node: NodeId, field: Option<String> },
    /// `$LOOP_PREV.ID.output` or `$LOOP_PREV.ID.output.field`: from the previous iteration of the loop group.
    PreviousOutput { node: NodeId, field: Option<String> },
    /// `$INPUTS.name`.
    Input { name: String },
}

impl ValueReference {
    /// The node in the same graph whose output is meant. `None` for inputs and for the previous iteration.
    #[must_use]
    pub fn node(&self) -> Option<&NodeId> {
        match self {
            Self::Output { node, .. } => Some(node),
            Self::PreviousOutput { .. } | Self::Input { .. } => None,
        }
    }

    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Output { field, .. } | Self::PreviousOutput { field, .. } => field.as_deref(),
            Self::Input { .. } => None,
        }
    }
}

impl ValueReference {
    /// The name of the input, if an input is meant.
    #[must_use]
    pub fn input(&self) -> Option<&str> {
        match self {
            Self::Input { name } => Some(name),
            Self::Output { .. } | Self::PreviousOutput { .. } => None,
        }
    }
}

impl fmt::Display for ValueReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output { node, .. } => write!(f, "${node}.output")?,
            Self::PreviousOutput { node, .. } => write!(f, "$LOOP_PREV.{node}.output")?,
            Self::Input { name } => write!(f, "$INPUTS.{name}")?,
        }
        self.field().map_or(Ok(()), |field| write!(f, ".{field}"))
    }
}

/// The target of a `$` in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextReference {
    Value(ValueReference),
    Variable(WorkflowVariable),
}

/// A reference and its bytes in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundReference {
    pub range: Range<usize>,
    pub reference: TextReference,
}

/// Finds the references of a text, in order. Ids are not checked: a text may explain the format and name nodes that do
/// not exist.
#[must_use]
pub fn find_references(text: &str) -> Vec<FoundReference> {
    find_with(text, |after| parse_reference(after).or_else(|| parse_braced_variable(after)))
}

/// Finds the references of program text, where `${NAME}` belongs to the program.
pub(super) fn find_unbraced_references(text: &str) -> Vec<FoundReference> {
    find_with(text, parse_reference)
}

fn find_with(text: &str, parse: impl Fn(&str) -> Option<(TextReference, usize)>) -> Vec<FoundReference> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| memchr::memchr(b'$', rest.as_bytes())) {
        let start = from + at;
        from = start + 1;
        if let Some((reference, length)) = parse(text.get(from..).unwrap_or_default()) {
            from += length;
            found.push(FoundReference { range: start..from, reference });
        }
    }
    found
}

/// Parses the reference after a `$`. Returns it and its length without the `$`.
pub(super) fn parse_reference(after: &str) -> Option<(TextReference, usize)> {
    if let Some((reference, length)) = parse_value_reference(after) {
        return Some((TextReference::Value(reference), length));
    }
    let length = identifier_len(after);
    let variable = WorkflowVariable::from_name(after.get(..length)?)?;
    Some((TextReference::Variable(variable), length))
}

/// Parses `{NAME}` after a `$`.
fn parse_braced_variable(after: &str) -> Option<(TextReference, usize)> {
    let inside = after.strip_prefix('{')?;
    let length = identifier_len(inside);
    let variable = WorkflowVariable::from_name(inside.get(..length)?)?;
    inside.get(length..)?.starts_with('}').then_some((TextReference::Variable(variable), length + 2))
}

/// Parses the value reference after a `$`. Returns it and its length without the `$`.
pub(super) fn parse_value_reference(after: &str) -> Option<(ValueReference, usize)> {
    if let Some(rest) = after.strip_prefix("INPUTS.") {
        let length = identifier_len(rest);
        let name = rest.get(..length).filter(|name| !name.is_empty())?;
        return Some((ValueReference::Input { name: name.to_owned() }, "INPUTS.".len() + length));
    }
    if let Some(rest) = after.strip_prefix("LOOP_PREV.") {
        let (node, field, length) = parse_output(rest)?;
        return Some((ValueReference::PreviousOutput { node, field }, "LOOP_PREV.".len() + length));
    }
    let (node, field, length) = parse_output(after)?;
    Some((ValueReference::Output { node, field }, length))
}

/// Parses `ID.output` or `ID.output.field`.
fn parse_output(text: &str) -> Option<(NodeId, Option<String>, usize)> {
    let id_length = node_id_len(text);
    let id = text.get(..id_length).filter(|id| !id.is_empty())?;
    let rest = text.get(id_length..)?.strip_prefix(".output")?;
    if rest.starts_with(is_identifier_char) {
        return None;
    }
    let mut length = id_length + ".output".len();
    let field = rest.strip_prefix('.').and_then(|rest| rest.get(..identifier_len(rest)));
    let field = field.filter(|field| !field.is_empty());
    length += field.map_or(0, |field| field.len() + 1);
    Some((NodeId(id.to_owned()), field.map(ToOwned::to_owned), length))
}

/// The length of `[A-Za-z_][A-Za-z0-9_]*` at the start of the text; 0 if it has none.
pub(super) fn identifier_len(text: &str) -> usize {
    prefix_len(text, is_identifier_char)
}

/// The length of `[A-Za-z_][A-Za-z0-9_-]*` at the start of the text; 0 if it has none.
pub(super) fn node_id_len(text: &str) -> usize {
    prefix_len(text, |letter| is_identifier_char(letter) || letter == '-')
}

fn prefix_len(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    if !text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
        return 0;
    }
    text.find(|letter: char| !is_part(letter)).unwrap_or(text.len())
}

fn is_identifier_char(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn found(text: &str) -> Vec<String> {
        let references = find_references(text).into_iter().map(|found| match found.reference {
            TextReference::Value(reference) => reference.to_string(),
            TextReference::Variable(variable) => variable.name().to_string(),
        });
        references.collect()
    }

    // spec: W6
    #[test]
    fn references_are_found_in_any_text() {
        assert_eq!(
            found("Use $plan.output, $fix-1.output.title and $LOOP_PREV.a_b.output.ok. ($INPUTS.issue)"),
            ["$plan.output", "$fix-1.output.title", "$LOOP_PREV.a_b.output.ok", "$INPUTS.issue"]
        );
    }

    // spec: W6
    #[test]
    fn a_name_of_a_variable_is_whole() {
        assert_eq!(
            found("$ARTIFACTS_DIR/a ${BASE_BRANCH}x $USER_MESSAGE"),
            ["ARTIFACTS_DIR", "BASE_BRANCH", "ARGUMENTS"]
        );
        assert!(found("$ARTIFACTS_DIRS $ARGUMENT ${BASE_BRANCH:-main} ${BASE_BRANCH").is_empty());
    }

    // spec: W6
    #[test]
    fn other_dollar_signs_are_text() {
        assert!(found("$5 $ $$ $x $x.y $.output $x.outputs $x.output_file $1.output ${x.output} $é.output").is_empty());
    }

    // spec: W6
    #[test]
    fn a_field_ends_before_punctuation() {
        assert_eq!(found("$a.output. $b.output.c.d $c.output.1"), ["$a.output", "$b.output.c", "$c.output"]);
    }

    // spec: W6
    #[test]
    fn ranges_are_the_bytes_of_the_references() {
        let text = "é$a.output.b$ARGUMENTS.";
        let written: Vec<&str> = find_references(text).into_iter().filter_map(|found| text.get(found.range)).collect();
        assert_eq!(written, ["$a.output.b", "$ARGUMENTS"]);
    }
}
