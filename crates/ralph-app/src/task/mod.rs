//! Tasks as files: reading YAML, `prd.json` and Markdown check lists with the place of every mistake, and writing tasks so
//! that they are read again unchanged. It stores nothing and starts nothing.
mod error;
mod fields;
mod file;
mod join;
mod json;
mod markdown;
mod origin;
mod prd;
mod read;
mod write;

pub use error::TaskError;
pub use file::{Form, Given, bounded, config_file, config_text, given, one};
pub use join::join;
pub use origin::Origin;
pub use read::Read;
pub use write::{Outgoing, yaml};
