//! Criterion templates with parameters. A value becomes part of one argument, or an environment variable of the check.
//! No shell parses it, and placeholders inside a value are not expanded.
mod built_in_templates;
mod template_filler;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub use built_in_templates::built_in_templates;

use super::Criterion;

/// Prefix of the environment variables that pass parameters to a check.
pub const PARAMETER_VARIABLE_PREFIX: &str = "RALPH_PARAM_";

/// A criterion with a placeholder `{{name}}` for each parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriterionTemplate {
    pub name: String,
    /// Its purpose in one line.
    pub about: String,
    pub parameters: Vec<TemplateParameter>,
    pub criterion: Criterion,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateParameter {
    pub name: String,
    pub about: String,
    pub kind: ParameterKind,
    /// The default value. Without a default, the parameter is required.
    pub default: Option<ParameterValues>,
}

/// The values of one parameter. Only list parameters may have more than one.
pub type ParameterValues = Vec<String>;

/// Which values a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// A whole number within bounds.
    WholeNumber { min: u64, max: u64 },
    /// A path. If it starts with `-`, it is written as `./-…`.
    Path,
    /// One path or more.
    Paths,
    /// Words, each of them a separate argument.
    Words,
    /// A URL that starts with http:// or https://.
    Url,
}

/// Why a template or its values are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CriterionTemplateError {
    #[error("the template {template} has no parameter {name:?}")]
    UnknownParameter { template: String, name: String, known: Vec<String> },
    #[error("the template {template} needs the parameter {name}: {about}")]
    MissingParameter { template: String, name: String, about: String },
    #[error("{name}: {value:?} is not {wanted}")]
    InvalidValue { name: String, value: String, wanted: String },
    #[error("{name}: expected one value, not a list")]
    UnexpectedList { name: String },
    #[error("{placeholder} is inside a shell command, where a value would be parsed as part of the command")]
    InShellCommand { placeholder: String },
    #[error("{placeholder} is not a parameter of this template")]
    UnknownPlaceholder { placeholder: String },
    #[error("{placeholder} is a list and must be a separate word of the command")]
    ListInsideWord { placeholder: String },
}

impl CriterionTemplateError {
    /// Returns the path of the invalid part of `{template, with}`.
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
    /// The kinds and their names in template files.
    pub const KIND_NAMES: &'static [(&'static str, Self)] = &[
        ("text", Self::Text),
        ("whole", Self::WholeNumber { min: 0, max: u32::MAX as u64 }),
        ("path", Self::Path),
        ("paths", Self::Paths),
        ("words", Self::Words),
        ("url", Self::Url),
    ];

    /// Returns its name in template files.
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
