//! Makes a project ready: finds out what there is to find out, and writes what is missing. It never changes a file
//! that exists.
mod found;
mod texts;
mod write;

pub use found::{Found, look};
pub use write::{Made, WriteError, Written, write};
