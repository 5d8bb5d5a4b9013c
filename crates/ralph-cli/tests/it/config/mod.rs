//! Configuration, `ralph init`, `ralph doctor` and trust.
mod config_changes;
mod config_layers;
mod doctor;
mod init;
pub(crate) mod trust;
