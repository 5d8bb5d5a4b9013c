//! Why an attempt failed: from error records, standard error and exit codes.
pub(crate) mod classify;
pub(crate) mod fatal_error;
pub(crate) mod infer_failure;
pub(crate) mod limit_reset;
