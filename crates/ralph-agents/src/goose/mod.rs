//! goose: how `goose run` is started, and how its output is parsed.
mod launch;
mod stream;

pub(crate) use stream::stream_parser;

pub(crate) use launch::GooseAgent;
