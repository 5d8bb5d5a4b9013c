//! Processes: signals to ralph, and processes that agents and checks leave behind.
mod leftover_processes;
pub(crate) mod signals;
