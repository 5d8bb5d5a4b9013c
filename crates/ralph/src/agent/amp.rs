//! Amp's output has Claude's shape, without a cost and with the prompt echoed as a user message.
use super::claude;
use super::parser::Parser;

pub(super) fn parser() -> impl Parser {
    claude::parser()
}
