//! Grok's command line agent. Its `streaming-messages-json` output has the same format as Claude's, according to its
//! documentation. The project has not run it.
mod launch;

pub(crate) use launch::GrokAgent;
