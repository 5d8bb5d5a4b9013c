//! Finds the file of a program, and explains why a program cannot be started.
pub(crate) mod executable_format;
pub(crate) mod locate_program;
pub(crate) mod resolve_program;
