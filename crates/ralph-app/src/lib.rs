//! The use cases of ralph, with plain inputs and results. The command line, and every other screen, calls these and formats what comes back.
pub mod config;
pub mod demo;
pub mod doctor;
pub mod init;
pub mod retention;
pub mod task;
pub mod trust;
pub mod view;
