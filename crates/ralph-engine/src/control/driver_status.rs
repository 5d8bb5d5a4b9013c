//! Whether somebody drives a run, and who.
use crate::lock::{self, RunOwner};
use crate::project::Project;
use ralph_store::LoopRow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriverStatus {
    /// Somebody does, as far as he said who he is.
    Driven(Option<RunOwner>),
    NotDriven,
}

/// Looks who drives a run. The lock tells whether somebody does, and the record who.
#[must_use]
pub fn find_driver(project: &Project, row: &LoopRow) -> DriverStatus {
    if lock::is_lock_free(&project.run_lock(&row.run.id)) {
        return DriverStatus::NotDriven;
    }
    DriverStatus::Driven(row.owner_json.as_deref().and_then(RunOwner::parse))
}

impl DriverStatus {
    /// Returns who drives it, if that is known.
    #[must_use]
    pub fn owner(&self) -> Option<&RunOwner> {
        match self {
            Self::Driven(owner) => owner.as_ref(),
            Self::NotDriven => None,
        }
    }
}
