//! The hands of `ralph`: everything that touches the world. What to do is decided in `ralph-core`.
pub mod agent;
pub mod duration;
pub mod engine;
pub mod hearing;
pub mod memory_size;
pub mod private;
pub mod process;
pub mod project;
pub mod sanitize;
pub mod store;
pub mod verify;
