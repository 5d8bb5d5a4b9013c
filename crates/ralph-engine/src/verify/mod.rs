//! The verifiers: they look at what was claimed and bring evidence. They never decide what follows from it.
mod acceptance;
mod asked_agent;
mod asked_api;
mod baseline;
mod cache;
mod compiled;
mod criteria;
mod diff;
mod examine;
mod external;
mod ground;
mod judge;
mod named;
mod names;
mod orders;
mod plugin;
mod program;
mod room;
mod seal;
mod semantic;
mod side_by_side;
mod watch;

use std::path::PathBuf;

use ralph_core::evidence::CheckEvidence;

use ralph_process::{Keeper, LogBudget};

pub use acceptance::{Acceptance, PatternError, Patterns};
pub use asked_agent::AskedAgent;
pub use cache::{Cache, Known};
pub use criteria::look_at_next;
pub use examine::{Examiner, Preparation, again, set_up_tree, with_allowed};
pub use ground::Ground;
pub use judge::{Asked, Judge};
pub use orders::Orders;
pub use room::lend;
pub use seal::{SealError, Sealer};
pub use watch::Watch;

/// All that a verification of one claim needs.
pub struct Verifier {
    pub keeper: Keeper,
    pub ground: Ground,
    /// What is known already.
    pub cache: Cache,
    /// What must stay as it is while the checks run.
    pub watch: Watch,
    /// Where the checks leave their output.
    pub folder: PathBuf,
    /// The name that the logs begin with.
    pub name: String,
    /// The room for them.
    pub logs: LogBudget,
    /// The folder of the plugins.
    pub verifiers: PathBuf,
    pub claim: Claimed,
    /// Who judges, where a criterion asks for a judge.
    pub judge: Option<Judge>,
}

/// The claim that is verified.
#[derive(Debug, Clone, Default)]
pub struct Claimed {
    pub promise: String,
    /// The agent's last message, bounded.
    pub report: String,
    /// The file with all that the agent printed.
    pub output: PathBuf,
}

/// Which criterion is looked at.
struct Spot<'a> {
    /// Its number; stages have theirs after a dot, further tries after that.
    place: String,
    /// What was seen before it.
    before: &'a [CheckEvidence],
}
