//! The hands of `ralph`: everything that touches the world. What to do is decided in `ralph-core`.
pub mod agent;
pub mod cli;
pub mod demo;
pub mod duration;
pub mod engine;
pub mod error;
pub mod git;
pub mod hearing;
pub mod memory_size;
pub mod private;
pub mod process;
pub mod project;
pub mod report;
pub mod sanitize;
pub mod store;
pub mod verify;
pub mod view;
