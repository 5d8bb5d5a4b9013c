//! pi: how it is started and how its output is parsed, from its documentation. The project has not run it.
mod launch;
mod stream;

pub(crate) use launch::PiAgent;
pub(crate) use stream::stream_parser;
