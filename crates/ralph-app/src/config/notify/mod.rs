//! The targets of notifications.
pub(in crate::config) mod notify_target;
pub(in crate::config) mod read_targets;
