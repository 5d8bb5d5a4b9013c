//! Commands that prepare a project, the agents and this machine.
pub mod agents;
pub mod config;
pub mod doctor;
pub mod init;
pub mod install;
pub mod notify;
pub mod templates;
pub mod trust;
