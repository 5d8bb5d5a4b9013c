//! The layers of the configuration: finding, reading and applying them.
pub(in crate::config) mod assignments;
pub(in crate::config) mod classic;
pub(in crate::config) mod document;
pub(in crate::config) mod environment;
pub(in crate::config) mod files;
pub(in crate::config) mod load;
pub(in crate::config) mod source;
