//! The seal: which files decide a check, and whether they changed.
pub(super) mod command_files;
pub(super) mod file_hash;
pub(super) mod file_sealer;
pub(super) mod pycache;
pub(super) mod python_modules;
pub(super) mod seal_monitor;
pub(super) mod sealed_paths;
pub(super) mod task_seal;
