//! goose: how `goose run` is started. Its output is parsed in [`stream`].
mod launch;
mod stream;

pub(crate) use stream::stream_parser;

pub(crate) use launch::GooseAgent;
