//! The messages between ralph and the supervisors, and their encoding.
pub(crate) mod frame;
pub(crate) mod messages;
