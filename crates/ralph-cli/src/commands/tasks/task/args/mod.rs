//! The arguments of the larger subcommands.
pub(crate) mod field_args;
pub(crate) mod generate_args;
pub(crate) mod role_args;
pub(crate) mod run_args;
