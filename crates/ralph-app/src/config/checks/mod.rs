//! Checks and check templates in the configuration.
pub(in crate::config) mod check_json;
pub(in crate::config) mod check_list;
pub(in crate::config) mod configured_check;
pub(in crate::config) mod templates;
