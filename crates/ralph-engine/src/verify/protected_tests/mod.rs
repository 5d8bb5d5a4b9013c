//! Protected tests: which of them a claim changed, and whether the checks pass with the original ones.
pub(super) mod protected_base;
pub(super) mod protected_copy;
pub(super) mod protected_files;
pub(super) mod protected_run_files;
pub(super) mod protected_watch;
