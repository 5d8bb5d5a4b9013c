//! The jq filters of the user, and the process that evaluates them.
pub(crate) mod filter_server;
pub(crate) mod filtered_reader;
pub(crate) mod jq_filter;
