//! How an agent is started: invocation, permissions, preset and preflight.
pub(crate) mod invocation;
pub(crate) mod node_options;
pub(crate) mod permission;
pub(crate) mod preflight;
pub(crate) mod preset;
pub(crate) mod work_scope;
