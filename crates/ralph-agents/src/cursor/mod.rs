//! Cursor's command line agent: how it is started and how its output is parsed, from its documentation. The project has
//! not run it.
mod launch;
mod record;
mod stream;

pub(crate) use launch::CursorAgent;
pub(crate) use stream::stream_parser;
