//! Any agent that speaks version 1 of the Agent Client Protocol: JSON-RPC on its standard streams. The conversation
//! itself is in [`conversation`] and is pure.
pub(crate) mod context_line;
mod conversation;
mod handshake;
mod launch;
mod message;
mod notifications;
mod permission_policy;
pub(crate) mod presets;
mod requests;
mod rpc_error;
#[cfg(test)]
mod tests;
mod tool_calls;
mod turn;
mod usage;

pub(crate) use launch::{AcpAgent, stream_parser};
