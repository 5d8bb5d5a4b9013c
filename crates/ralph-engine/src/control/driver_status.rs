//! Whether a process drives a run, and which one.
use crate::lock::{self, RunOwner};
use crate::project::Project;
use ralph_store::LoopRow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DriverStatus {
    /// A process drives the run; its owner record may be missing.
    Driven(Option<RunOwner>),
    NotDriven,
}

/// Finds the driver of a run: the lock shows whether there is one, and the record names it.
#[must_use]
pub fn find_driver(project: &Project, row: &LoopRow) -> DriverStatus {
    if lock::is_lock_free(&project.run_lock(&row.run.id)) {
        return DriverStatus::NotDriven;
    }
    DriverStatus::Driven(row.owner_json.as_deref().and_then(RunOwner::parse))
}

impl DriverStatus {
    /// Returns the driver, if it is known.
    #[must_use]
    pub fn owner(&self) -> Option<&RunOwner> {
        match self {
            Self::Driven(owner) => owner.as_ref(),
            Self::NotDriven => None,
        }
    }
}
