//! The definition of done of a task, as written.
pub(super) mod completion_spec;
pub(super) mod method_name;
pub(super) mod timeout_spec;
pub(super) mod verification_config;
