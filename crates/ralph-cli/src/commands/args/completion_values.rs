//! Value parsers that offer candidates for shell completion. The candidates do not restrict which values are accepted.
use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use crate::commands::args::value_parsers::parse_format;
use ralph_agents::{AGENTS, OutputFormat, PermissionLevel};

/// A value parser with completion candidates.
#[derive(Clone)]
pub struct WithCompletions<P> {
    parser: P,
    candidates: fn() -> Vec<&'static str>,
}

/// Accepts any name, because the configuration may define agents, and offers the built-in agents.
#[must_use]
pub fn agent_name_parser() -> WithCompletions<impl TypedValueParser<Value = String>> {
    let name = |text: &str| Ok::<String, String>(text.to_owned());
    WithCompletions { parser: name, candidates: || AGENTS.iter().map(|agent| agent.name()).collect() }
}

/// Parses an output format, and offers all of them.
#[must_use]
pub fn format_parser() -> WithCompletions<impl TypedValueParser<Value = OutputFormat>> {
    WithCompletions {
        parser: parse_format,
        candidates: || OutputFormat::ALL.iter().map(|format| format.name()).collect(),
    }
}

/// Parses a permission level, and offers all of them.
#[must_use]
pub fn permission_parser() -> WithCompletions<impl TypedValueParser<Value = PermissionLevel>> {
    let parser = |text: &str| text.parse::<PermissionLevel>();
    WithCompletions { parser, candidates: || PermissionLevel::ALL.iter().map(|permission| permission.name()).collect() }
}

impl<P: TypedValueParser> TypedValueParser for WithCompletions<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.candidates)().into_iter().map(PossibleValue::new)))
    }
}
