//! Values that shells offer when a command line is completed. What is taken is decided by the parser alone.
use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use super::value_parsers::parse_format;
use ralph_agents::{AGENTS, OutputFormat, PermissionLevel};

/// A parser with values that it offers.
#[derive(Clone)]
pub struct WithCompletions<P> {
    parser: P,
    candidates: fn() -> Vec<&'static str>,
}

/// Takes any name, since the configuration may add agents, and offers those that are built in.
#[must_use]
pub fn agent_name_parser() -> WithCompletions<impl TypedValueParser<Value = String>> {
    let name = |text: &str| Ok::<String, String>(text.to_owned());
    WithCompletions { parser: name, candidates: || AGENTS.iter().map(|agent| agent.name()).collect() }
}

/// Takes and offers the formats that can be read.
#[must_use]
pub fn format_parser() -> WithCompletions<impl TypedValueParser<Value = OutputFormat>> {
    WithCompletions {
        parser: parse_format,
        candidates: || OutputFormat::ALL.iter().map(|format| format.name()).collect(),
    }
}

/// Takes and offers what an agent may do unasked.
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
