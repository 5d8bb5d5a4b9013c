//! The state of a project: earlier versions kept it in the work tree.
mod move_folder;
mod old_state;

pub use old_state::{StateEvidence, adopt_old_state};
