//! References in shell scripts. A script is rewritten so that every value arrives through a variable of its environment,
//! whatever quotes the reference has: a value never becomes part of the script.
//!
//! [`rewrite_script`] needs no values, so a workflow file can be checked before it runs. [`RewrittenScript::bind`] adds
//! the values of one run.
mod backquotes;
mod bind;
mod code;
mod declarations;
mod edits;
mod expansions;
mod frames;
mod guards;
mod heredoc;
mod scanner;
#[cfg(test)]
mod tests;
mod unsafe_uses;
mod words;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

pub use bind::{BoundScript, MAX_VARIABLE_BYTES, ValueFile, input_variable_name};

use self::edits::ScriptVariables;
pub use guards::takes_outside_values;

use self::scanner::Scanner;
use super::references::ValueReference;
use super::variables::WorkflowVariable;

/// A script whose references are variables of its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewrittenScript {
    pub text: String,
    /// The variables that the script needs, each once.
    pub values: Vec<ScriptValue>,
    /// Variables that the shell hands to another program as part of a text in single quotes or of a quoted
    /// here-document. Their values must be plain, see [`super::is_plain_value`].
    pub spliced_variables: BTreeSet<WorkflowVariable>,
    /// Whether the script expands `$BASE_BRANCH` and does not set it.
    pub uses_base_branch: bool,
    /// Variables with text of a person in single quotes: the shell does not expand them there.
    pub unexpanded_variables: Vec<UnexpandedVariable>,
    /// Why the script is refused: bash would evaluate values as code.
    pub unsafe_uses: Vec<UnsafeUse>,
}

/// A part of a script in which bash evaluates values as code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsafeUse {
    pub range: Range<usize>,
    pub kind: UnsafeUseKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsafeUseKind {
    /// A value is the name of a variable, or the subscript in it.
    Name,
    /// A value is a part of a program that a shell runs.
    Program,
}

/// A variable of a rewritten script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptValue {
    /// The name in the environment, such as `RALPH_V1`.
    pub name: String,
    pub reference: ValueReference,
    pub usage: ValueUsage,
}

/// How the shell reads a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueUsage {
    Text,
    /// In an arithmetic expression, where the shell would evaluate a text as an expression.
    Number,
}

/// A variable in a place where the shell does not expand it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnexpandedVariable {
    pub range: Range<usize>,
    pub variable: WorkflowVariable,
}

/// A value reference in the code of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptReference {
    pub range: Range<usize>,
    pub reference: ValueReference,
}

/// Rewrites the references of a script to variables of its environment.
#[must_use]
pub fn rewrite_script(script: &str) -> RewrittenScript {
    let mut variables = ScriptVariables::default();
    let edited = Scanner::new(script, &mut variables).edit();
    // On the first line, so that line numbers stay the same.
    let functions = guards::functions_for(&edited.text);
    let text = alloc::format!("{functions}{}", edited.text);
    let uses_base_branch = edited.expands_base_branch && !script.contains("BASE_BRANCH=");
    RewrittenScript {
        text,
        values: variables.into_values(),
        spliced_variables: edited.spliced_variables,
        uses_base_branch,
        unexpanded_variables: edited.unexpanded_variables,
        unsafe_uses: edited.unsafe_uses,
    }
}

/// Finds the value references of a script. References in comments, and those with an escaped `$`, are text.
#[must_use]
pub fn find_script_references(script: &str) -> Vec<ScriptReference> {
    Scanner::new(script, &mut ScriptVariables::default()).edit().references
}
