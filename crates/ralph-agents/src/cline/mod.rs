//! Cline: how it is started in headless mode, and how its output is parsed. Cline cannot resume without a
//! terminal, and it starts a daemon outside of its process group that survives it.
mod launch;
mod legacy_records;
mod record;
mod run_records;
mod stream;

pub(crate) use stream::stream_parser;

pub(crate) use launch::ClineAgent;
