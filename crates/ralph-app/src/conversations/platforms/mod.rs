//! The platforms: how their requests are checked and read, and how messages are sent to them.
pub(crate) mod endpoint;
pub(super) mod signed_request;
pub(crate) mod slack;
pub(crate) mod webhook;
