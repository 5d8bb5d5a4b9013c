//! Whether somebody drives a run, and who.
use crate::lock::{self, Owner};
use crate::project::Project;
use ralph_store::LoopRow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Driven {
    /// Somebody does, as far as he said who he is.
    By(Option<Owner>),
    Nobody,
}

/// Looks who drives a run. The lock tells whether somebody does, and the record who.
#[must_use]
pub fn driven(project: &Project, row: &LoopRow) -> Driven {
    if lock::is_free(&project.run_lock(&row.run.id)) {
        return Driven::Nobody;
    }
    Driven::By(row.owner.as_deref().and_then(Owner::parse))
}

impl Driven {
    /// Returns who drives it, if that is known.
    #[must_use]
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Self::By(owner) => owner.as_ref(),
            Self::Nobody => None,
        }
    }
}
