//! Converts observations of an agent's process into the types of the core rules.
use ralph_agents::AgentExit;
use ralph_core::attempt::{AttemptEnding, LeftoverProcesses};
use ralph_process::TreeCleanup;

/// Returns the exit of a process, if it was observed.
pub(in crate::run_driver) fn observed_exit(ending: &AttemptEnding) -> Option<AgentExit> {
    match ending {
        AttemptEnding::Exited { code } => Some(AgentExit::Code(*code)),
        AttemptEnding::Signalled { signal } => Some(AgentExit::Signal(*signal)),
        AttemptEnding::NotStarted { .. }
        | AttemptEnding::SupervisorKilled
        | AttemptEnding::OverMemory { .. }
        | AttemptEnding::ExitNotObserved => None,
    }
}

pub(in crate::run_driver) fn to_leftovers(cleanup: &TreeCleanup) -> LeftoverProcesses {
    let leaked = cleanup.leaked.iter().map(|survivor| format!("{} ({})", survivor.name, survivor.pid));
    LeftoverProcesses { killed: cleanup.killed, leaked: leaked.collect() }
}

/// Converts dollars as an agent reports them into millionths. An amount out of range counts as 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
pub(in crate::run_driver) fn dollars_to_micros(dollars: f64) -> u64 {
    let micros = (dollars * 1e6).round();
    if micros.is_finite() && micros > 0.0 && micros < 1e18 { micros as u64 } else { 0 }
}
