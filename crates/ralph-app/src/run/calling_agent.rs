//! Refuses orders that only a person may give, if an agent gives them: an agent of a run on this project, or one whose
//! session has an active loop here. It prevents accidents; an agent that hides its ancestry on purpose gets through.
use ralph_agents::{belongs_to_session, is_inside_agent_session};
use ralph_engine::project::Project;
use ralph_engine::session_driver::{LoopFile, LoopStore, find_loop_folder};
use ralph_process::ancestor_processes;

use super::{EnclosingRun, find_enclosing_run};
use crate::error::{AppError, AppResult};
use crate::view::short_id;

/// The agent that started this ralph.
#[derive(Debug, PartialEq, Eq)]
pub enum CallingAgent {
    OfRun(EnclosingRun),
    /// Its session has an active loop on this project.
    OfSession,
}

/// Refuses an order of an agent. `action` completes the sentence "an agent cannot …".
pub fn refuse_command_by_agent(project: &Project, action: &str) -> AppResult<()> {
    let Some(agent) = find_calling_agent(project) else { return Ok(()) };
    let cause = match &agent {
        CallingAgent::OfRun(EnclosingRun::Run(run)) => format!("this is an agent of run {}", short_id(run)),
        CallingAgent::OfRun(EnclosingRun::Unmarked) => "this is an agent of a run".to_owned(),
        CallingAgent::OfSession => "this is an agent whose session has an active loop".to_owned(),
    };
    Err(AppError::preflight(format!("an agent cannot {action}"))
        .with_cause(cause)
        .with_advice("a person can, in a terminal outside of the run or session"))
}

/// Returns the agent that started this ralph, if it works on the project.
#[must_use]
pub fn find_calling_agent(project: &Project) -> Option<CallingAgent> {
    let run = find_enclosing_run(project).map(CallingAgent::OfRun);
    run.or_else(|| is_inside_session_loop(project).then_some(CallingAgent::OfSession))
}

fn is_inside_session_loop(project: &Project) -> bool {
    let Ok(folder) = find_loop_folder(|name| std::env::var_os(name)) else { return false };
    let loops = LoopStore::new(folder).list_loops().map(|list| list.loops).unwrap_or_default();
    loops
        .iter()
        .any(|entry| entry.loop_state.is_active() && is_loop_of_project(entry, project) && is_started_by_session(entry))
}

fn is_loop_of_project(entry: &LoopFile, project: &Project) -> bool {
    entry.root == project.root || Project::find_from(&entry.root).is_ok_and(|other| other.home == project.home)
}

/// Returns whether the agent of the loop's session started this process. The variables of the process itself may
/// name any agent, because an agent can start another one.
pub fn is_started_by_session(entry: &LoopFile) -> bool {
    is_inside_agent_session(|name| std::env::var_os(name).is_some())
        || ancestor_processes().iter().any(|process| {
            belongs_to_session(entry.host.as_deref(), &entry.session_id, |name| process.environment_variable(name))
        })
}
