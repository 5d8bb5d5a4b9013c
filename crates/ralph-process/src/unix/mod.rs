//! Wrappers of system calls: descriptors, fork, signals, and the functions that differ between Linux and other systems.
pub(crate) mod child_exit_notifier;
pub(crate) mod fds;
pub(crate) mod fork_process;
pub(crate) mod own_limits;
pub(crate) mod signals;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
pub(crate) mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "other_unix.rs"]
pub(crate) mod platform;
