//! Work trees of ralph's own: one for each task, where its agents work without being in anybody's way. Everything about a tree
//! stands in the repository itself, as references and as git's own list of work trees. Nothing that is not merged is ever
//! deleted here.
mod accept;
mod error;
mod forget;
mod history;
mod land;
#[cfg(test)]
mod land_tests;
mod make;
#[cfg(test)]
mod make_tests;
mod names;
mod obstacle;
mod place;
mod remove;
mod rewind;
mod setup;
mod snapshot;
#[cfg(test)]
mod testing;

use std::path::PathBuf;

pub use accept::{Accepted, Standing, accept, accepted, standing};
pub use error::TreeError;
pub use forget::{Forgotten, forget, unmerged};
pub use history::{Moment, Span, Undone, remember, span, undo};
pub use land::{Landing, NotLanded, Onto, finish, merged, not_landed, recover};
pub use make::{How, Made, find, make};
pub use names::Mark;
pub use place::Site;
pub use remove::{Removal, all, discard, remove, would_lose};
pub use rewind::{Rewound, rewind};
pub use setup::{SetUp, set_up};
pub use snapshot::{Snapshot, snapshot, snapshots};

/// A work tree that belongs to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// The id of the task.
    pub name: String,
    pub path: PathBuf,
    /// The commit that the work began at.
    pub base: String,
}

impl Tree {
    /// Returns the branch that accepted work is on, as people write it.
    #[must_use]
    pub fn branch(&self) -> String {
        format!("ralph/{}", self.name)
    }
}

/// A tree that a run works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workplace {
    pub site: Site,
    pub tree: Tree,
    /// What its snapshots are kept under: the role of a stage, or `run`.
    pub stage: String,
    /// Commands that make it fit for work, where that is not done yet.
    pub setup: Vec<String>,
}
