//! Runs that another process drives: their facts from the journal, and the agent's output from its raw log.
mod followed_run;
mod live_log;
mod run_replay;

pub use followed_run::FollowedRun;
pub(crate) use followed_run::stored_agents;
pub use run_replay::ReplayScope;
use run_replay::{ReplaySource, RunReplay};
