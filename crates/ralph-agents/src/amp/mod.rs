//! Amp. Its output has the same format as Claude's, without a cost.
mod launch;

pub(crate) use launch::{AmpAgent, stream_parser};
