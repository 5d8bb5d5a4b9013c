//! The changes of a script, and the names of its variables.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::{ScriptReference, ScriptValue, UnexpandedVariable, UnsafeUse, ValueUsage};
use crate::workflow::references::ValueReference;
use crate::workflow::variables::WorkflowVariable;

/// A rewritten text and what was found in it.
pub(super) struct EditedText {
    pub text: String,
    /// Whether the text differs from the original.
    pub is_changed: bool,
    pub references: Vec<ScriptReference>,
    pub spliced_variables: BTreeSet<WorkflowVariable>,
    pub expands_base_branch: bool,
    pub unexpanded_variables: Vec<UnexpandedVariable>,
    pub unsafe_uses: Vec<UnsafeUse>,
}

/// One change of a script.
pub(super) struct Edit {
    pub range: Range<usize>,
    pub replacement: Replacement,
}

pub(super) enum Replacement {
    Text(String),
    Value(ValueEdit),
    /// A variable that the environment has under this name.
    Variable {
        name: &'static str,
        quoting: Quoting,
    },
    /// An expansion in `[[ … ]]`, which is checked if the operator compares numbers.
    Compared {
        checked: String,
        original: String,
        /// The index of the code frame whose word contains it directly.
        code_frame: usize,
        is_number: bool,
    },
}

pub(super) struct ValueEdit {
    pub reference: ValueReference,
    pub usage: ValueUsage,
    pub quoting: Quoting,
    /// The index of the code frame whose word contains the reference directly.
    pub code_frame: Option<usize>,
}

/// How an expansion is written, so that the shell takes it as one part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quoting {
    /// Outside of quotes: in double quotes.
    Add,
    /// In double quotes, in a here-document, or in an arithmetic expression: as it is.
    Keep,
    /// In single quotes: they are closed and opened again.
    LeaveSingle,
    /// In `$'…'`: it is closed and opened again.
    LeaveAnsi,
}

impl Quoting {
    pub fn expansion(self, name: &str) -> String {
        match self {
            Self::Add => format!("\"${{{name}}}\""),
            Self::Keep => format!("${{{name}}}"),
            Self::LeaveSingle => format!("'\"${{{name}}}\"'"),
            Self::LeaveAnsi => format!("'\"${{{name}}}\"$'"),
        }
    }
}

/// The variables of a script in the order of their first use.
#[derive(Default)]
pub(super) struct ScriptVariables {
    numbers: BTreeMap<(ValueReference, ValueUsage), usize>,
}

impl ScriptVariables {
    pub fn name(&mut self, reference: &ValueReference, usage: ValueUsage) -> String {
        let next = self.numbers.len() + 1;
        let number = *self.numbers.entry((reference.clone(), usage)).or_insert(next);
        variable_name(number, usage)
    }

    pub fn into_values(self) -> Vec<ScriptValue> {
        let mut numbered: Vec<_> = self.numbers.into_iter().collect();
        numbered.sort_by_key(|(_, number)| *number);
        let values = numbered.into_iter().map(|((reference, usage), number)| ScriptValue {
            name: variable_name(number, usage),
            reference,
            usage,
        });
        values.collect()
    }
}

fn variable_name(number: usize, usage: ValueUsage) -> String {
    match usage {
        ValueUsage::Text => format!("RALPH_V{number}"),
        ValueUsage::Number => format!("RALPH_N{number}"),
    }
}

/// Applies edits, which must not overlap.
pub(super) fn apply_edits(text: &str, mut edits: Vec<Edit>, variables: &mut ScriptVariables) -> String {
    // An insertion comes before a replacement at the same place.
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut edited = String::with_capacity(text.len() + edits.len() * 16);
    let mut from = 0;
    for edit in edits {
        edited.push_str(text.get(from..edit.range.start).unwrap_or_default());
        edited.push_str(&edit.replacement.render(variables));
        from = edit.range.end;
    }
    edited.push_str(text.get(from..).unwrap_or_default());
    edited
}

impl Replacement {
    fn render(self, variables: &mut ScriptVariables) -> String {
        match self {
            Self::Text(text) => text,
            Self::Value(value) => value.quoting.expansion(&variables.name(&value.reference, value.usage)),
            Self::Variable { name, quoting } => quoting.expansion(name),
            Self::Compared { checked, original, is_number, .. } => {
                if is_number {
                    checked
                } else {
                    original
                }
            }
        }
    }
}

/// A reference that is written into a text that the scanner builds itself.
pub(super) fn heredoc_expansion(reference: &ValueReference, variables: &mut ScriptVariables) -> String {
    Quoting::Keep.expansion(&variables.name(reference, ValueUsage::Text))
}
