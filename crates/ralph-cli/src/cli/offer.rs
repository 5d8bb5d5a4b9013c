//! Values that shells offer when a command line is completed. What is taken is decided by the parser alone.
use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

use super::values::format;
use ralph_agents::{AGENTS, Format, Permission};

/// A parser with values that it offers.
#[derive(Clone)]
pub struct Offer<P> {
    parser: P,
    names: fn() -> Vec<&'static str>,
}

/// Takes any name, since the configuration may add agents, and offers those that are built in.
#[must_use]
pub fn agents() -> Offer<impl TypedValueParser<Value = String>> {
    let name = |text: &str| Ok::<String, String>(text.to_owned());
    Offer { parser: name, names: || AGENTS.iter().map(|agent| agent.name()).collect() }
}

/// Takes and offers the formats that can be read.
#[must_use]
pub fn formats() -> Offer<impl TypedValueParser<Value = Format>> {
    Offer { parser: format, names: || Format::ALL.iter().map(|format| format.name()).collect() }
}

/// Takes and offers what an agent may do unasked.
#[must_use]
pub fn permissions() -> Offer<impl TypedValueParser<Value = Permission>> {
    let parser = |text: &str| text.parse::<Permission>();
    Offer { parser, names: || Permission::ALL.iter().map(|permission| permission.name()).collect() }
}

impl<P: TypedValueParser> TypedValueParser for Offer<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<P::Value, Error> {
        self.parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}
