//! Ready criteria with parameters. A value becomes part of one argument, or a variable of the check's environment; no
//! shell ever reads it, and it is never expanded again.
mod built_in_templates;
mod template_filler;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub use built_in_templates::built_in_templates;

use super::Criterion;

/// The names of a check's variables begin with this.
pub const PARAMETER_VARIABLE_PREFIX: &str = "RALPH_PARAM_";

/// A criterion with holes, `{{name}}`, one for each parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionTemplate {
    pub name: String,
    /// What it verifies, in one line.
    pub about: String,
    pub parameters: Vec<TemplateParameter>,
    pub criterion: Criterion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateParameter {
    pub name: String,
    pub about: String,
    pub kind: ParameterKind,
    /// What holds where nothing is given; without it the parameter is required.
    pub default: Option<ParameterValues>,
}

/// The values of one parameter: one, but for lists.
pub type ParameterValues = Vec<String>;

/// What may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// A whole number within bounds.
    WholeNumber { min: u64, max: u64 },
    /// A path that cannot be mistaken for an option.
    Path,
    /// One path or more.
    Paths,
    /// Words, each of them an argument of its own.
    Words,
    /// An address that begins with http:// or https://.
    Url,
}

/// Why a template cannot be used so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CriterionTemplateError {
    #[error("the template {template} has no parameter {name:?}")]
    UnknownParameter { template: String, name: String, known: Vec<String> },
    #[error("the template {template} needs the parameter {name}: {about}")]
    MissingParameter { template: String, name: String, about: String },
    #[error("{name}: {value:?} is not {wanted}")]
    InvalidValue { name: String, value: String, wanted: String },
    #[error("{name}: one value is wanted, not a list")]
    UnexpectedList { name: String },
    #[error("{hole} stands in a shell command, where a value would be read as part of the command")]
    InShellCommand { hole: String },
    #[error("{hole} is no parameter of this template")]
    UnknownPlaceholder { hole: String },
    #[error("{hole} is a list, and can only be words of a command by itself")]
    ListInsideWord { hole: String },
}

impl CriterionTemplateError {
    /// Returns which part of `{template, with}` is to blame, as a path.
    #[must_use]
    pub fn faulty_part(&self) -> String {
        match self {
            Self::UnknownParameter { name, .. }
            | Self::MissingParameter { name, .. }
            | Self::InvalidValue { name, .. }
            | Self::UnexpectedList { name } => format!("with.{name}"),
            Self::InShellCommand { .. } | Self::UnknownPlaceholder { .. } | Self::ListInsideWord { .. } => {
                String::from("template")
            }
        }
    }
}

impl ParameterKind {
    /// The kinds by the names under which templates write them.
    pub const KIND_NAMES: &'static [(&'static str, Self)] = &[
        ("text", Self::Text),
        ("whole", Self::WholeNumber { min: 0, max: u32::MAX as u64 }),
        ("path", Self::Path),
        ("paths", Self::Paths),
        ("words", Self::Words),
        ("url", Self::Url),
    ];

    /// Returns the name under which it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::WholeNumber { .. } => "whole",
            Self::Path => "path",
            Self::Paths => "paths",
            Self::Words => "words",
            Self::Url => "url",
        }
    }

    fn is_list(self) -> bool {
        match self {
            Self::Paths | Self::Words => true,
            Self::Text | Self::WholeNumber { .. } | Self::Path | Self::Url => false,
        }
    }
}

#[cfg(test)]
mod tests;
