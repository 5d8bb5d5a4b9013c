//! The platforms: how their requests are checked and read, and how messages are sent to them.
pub(super) mod endpoint;
pub(super) mod signed_request;
mod slack;
mod webhook;
