//! The use cases of ralph, with plain inputs and results. The command line, and every other screen, calls these and formats what comes back.
pub mod advice;
pub mod config;
pub mod control;
pub mod demo;
pub mod doctor;
pub mod error;
pub mod init;
pub mod interaction;
pub mod maintenance;
pub mod plan;
pub mod run;
pub mod task;
pub mod tasks;
pub mod trust;
pub mod view;
pub mod worktrees;
