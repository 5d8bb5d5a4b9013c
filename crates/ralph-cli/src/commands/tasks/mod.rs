//! Commands for tasks and their work.
pub mod land;
pub mod land_report;
pub mod rewind;
pub mod task;
pub mod work;
