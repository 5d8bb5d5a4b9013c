//! Every key of the configuration: what it sets, its schema and its effective value.
pub(in crate::config) mod fingerprint;
pub(in crate::config) mod key_list;
pub(in crate::config) mod notify_keys;
pub(in crate::config) mod rule_directions;
pub(in crate::config) mod schema;
pub(in crate::config) mod show;
pub(in crate::config) mod slot;
