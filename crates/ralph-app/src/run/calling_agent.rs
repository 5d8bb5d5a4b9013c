//! Refuses orders that only a person may give, if an agent gives them: an agent of a run on this project, or one whose
//! session has an active loop here. It prevents accidents; an agent that hides its ancestry on purpose gets through.
use ralph_agents::{belongs_to_session, is_inside_agent_session};
use ralph_engine::project::Project;
use ralph_engine::session_driver::{LoopFile, LoopStore, find_loop_folder};
use ralph_process::{
    AncestorProcess, ConnectionPeer, LoopbackConnection, ancestor_processes, find_connection_peer, process_lineage,
};

use super::EnclosingRun;
use super::nested_run::find_run_among;
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
    match find_calling_agent(project) {
        Some(agent) => Err(agent.refusal(action)),
        None => Ok(()),
    }
}

impl CallingAgent {
    /// Returns the error for an order of this agent.
    #[must_use]
    pub fn refusal(&self, action: &str) -> AppError {
        let cause = match self {
            Self::OfRun(EnclosingRun::Run(run)) => format!("this is an agent of run {}", short_id(run)),
            Self::OfRun(EnclosingRun::Unmarked) => "this is an agent of a run".to_owned(),
            Self::OfSession => "this is an agent whose session has an active loop".to_owned(),
        };
        AppError::preflight(format!("an agent cannot {action}"))
            .with_cause(cause)
            .with_advice("a person can, in a terminal outside of the run or session")
    }
}

/// Returns the agent that started this ralph, if it works on the project.
#[must_use]
pub fn find_calling_agent(project: &Project) -> Option<CallingAgent> {
    find_agent_among(project, &ancestor_processes())
}

/// Refuses an order that came over a loopback connection from an agent. Cannot tell if the kernel does not show the
/// process at the other end, for example because it belongs to another user.
pub fn refuse_order_by_connected_agent(
    project: &Project,
    connection: LoopbackConnection,
    action: &str,
) -> AppResult<()> {
    match find_connection_peer(connection) {
        ConnectionPeer::Processes(holders) => {
            let agent = holders.into_iter().find_map(|pid| find_agent_among(project, &process_lineage(pid)));
            agent.map_or(Ok(()), |agent| Err(agent.refusal(action)))
        }
        ConnectionPeer::Closed => Err(AppError::preflight("the client has closed the connection")),
        ConnectionPeer::OtherUser | ConnectionPeer::Unsupported => Ok(()),
    }
}

/// Returns the agent that a process is or was started by, if it works on the project. `lineage` is the process with its
/// ancestors.
fn find_agent_among(project: &Project, lineage: &[AncestorProcess]) -> Option<CallingAgent> {
    let run = find_run_among(project, lineage).map(CallingAgent::OfRun);
    run.or_else(|| is_inside_session_loop(project, lineage).then_some(CallingAgent::OfSession))
}

fn is_inside_session_loop(project: &Project, lineage: &[AncestorProcess]) -> bool {
    let Ok(folder) = find_loop_folder(|name| std::env::var_os(name)) else { return false };
    let loops = LoopStore::new(folder).list_loops().map(|list| list.loops).unwrap_or_default();
    loops.iter().any(|entry| {
        entry.loop_state.is_active() && is_loop_of_project(entry, project) && is_started_by(entry, lineage)
    })
}

fn is_loop_of_project(entry: &LoopFile, project: &Project) -> bool {
    entry.root == project.root || Project::find_from(&entry.root).is_ok_and(|other| other.home == project.home)
}

/// Returns whether the agent of the loop's session started this process.
#[must_use]
pub fn is_started_by_session(entry: &LoopFile) -> bool {
    is_started_by(entry, &ancestor_processes())
}

/// The variables of the process itself may name any agent, because an agent can start another one.
fn is_started_by(entry: &LoopFile, lineage: &[AncestorProcess]) -> bool {
    lineage.first().is_some_and(|own| is_inside_agent_session(|name| own.environment_variable(name).is_some()))
        || lineage.iter().any(|process| {
            belongs_to_session(entry.host.as_deref(), &entry.session_id, |name| process.environment_variable(name))
        })
}
