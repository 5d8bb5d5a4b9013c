//! The verifiers: they look at what was claimed and bring evidence. They never decide what follows from it.
mod criteria;
mod external;
mod ground;

use std::path::PathBuf;

use crate::process::{Keeper, LogBudget};

pub use criteria::verify;
pub use ground::Ground;

/// All that a verification of one claim needs.
pub struct Verifier {
    pub keeper: Keeper,
    pub ground: Ground,
    /// Where the checks leave their output.
    pub folder: PathBuf,
    /// The name that the logs begin with.
    pub name: String,
    /// The room for them.
    pub logs: LogBudget,
}
