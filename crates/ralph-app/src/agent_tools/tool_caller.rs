//! The caller of a tool: the agent that started `ralph mcp` is found by its processes, never by its own statement.
use ralph_engine::project::Project;

use crate::error::{AppError, AppResult};
use crate::run::{EnclosingRun, find_enclosing_run};
use crate::view::short_id;

/// The longest id of a task or run in a call.
const MAX_ID_BYTES: usize = 200;

/// The caller of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCaller {
    /// An agent of this run on this project.
    AgentOfRun(String),
    /// An agent that ralph started here, of an unknown run.
    UnknownAgent,
    /// No agent that ralph started on this project. The tools only read.
    Outside,
}

/// Returns who started this process.
#[must_use]
pub fn find_tool_caller(project: &Project) -> ToolCaller {
    match find_enclosing_run(project) {
        Some(EnclosingRun::Run(run)) => ToolCaller::AgentOfRun(run),
        Some(EnclosingRun::Unmarked) => ToolCaller::UnknownAgent,
        None => ToolCaller::Outside,
    }
}

impl ToolCaller {
    /// Returns the caller's own run if it is the one that it names, by its whole id or its short one. `action` completes the
    /// sentence "only the agent of a run can …".
    pub fn ensure_own_run(&self, named: &str, action: &str) -> AppResult<&str> {
        ensure_short_id(named)?;
        match self {
            Self::AgentOfRun(own) if own == named || short_id(own) == named => Ok(own),
            Self::AgentOfRun(own) => {
                let message = format!("run {named:?} is not yours: this is an agent of run {}", short_id(own));
                Err(AppError::invalid_request(message).with_advice(format!("give run {own:?}")))
            }
            Self::UnknownAgent => Err(unknown_agent_error()),
            Self::Outside => Err(AppError::preflight(format!("only the agent of a run can {action}"))
                .with_cause("this agent was not started by ralph, so the tools only read")),
        }
    }

    /// Returns what the caller may read: its own run, or everything (`None`).
    pub(super) fn readable_run(&self) -> AppResult<Option<&str>> {
        match self {
            Self::AgentOfRun(own) => Ok(Some(own)),
            Self::UnknownAgent => Err(unknown_agent_error()),
            Self::Outside => Ok(None),
        }
    }
}

/// Refuses an id that no task and no run can have, before an error repeats it.
pub(super) fn ensure_short_id(id: &str) -> AppResult<()> {
    if id.len() <= MAX_ID_BYTES {
        return Ok(());
    }
    Err(AppError::invalid_request(format!("the id is {} bytes long, at most {MAX_ID_BYTES} are possible", id.len())))
}

fn unknown_agent_error() -> AppError {
    AppError::preflight("cannot tell which run this agent belongs to")
        .with_cause("ralph started it, but its processes do not carry the id of the run")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";

    // spec: U8, V17
    #[test]
    fn an_agent_changes_only_its_own_run() {
        let agent = ToolCaller::AgentOfRun(RUN.to_owned());
        assert_eq!(agent.ensure_own_run(RUN, "claim").unwrap(), RUN);
        assert_eq!(agent.ensure_own_run(short_id(RUN), "claim").unwrap(), RUN);
        for other in ["", "0195a1b2", "0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c"] {
            let error = agent.ensure_own_run(other, "claim").unwrap_err();
            assert!(error.message.contains("is not yours"), "{error}");
        }
    }

    // spec: U8
    #[test]
    fn outside_of_a_run_the_tools_only_read() {
        let error = ToolCaller::Outside.ensure_own_run(RUN, "claim completion").unwrap_err();
        assert_eq!(error.message, "only the agent of a run can claim completion");
        assert_eq!(ToolCaller::Outside.readable_run().unwrap(), None);
        assert_eq!(ToolCaller::AgentOfRun(RUN.to_owned()).readable_run().unwrap(), Some(RUN));
    }

    // spec: U8
    #[test]
    fn an_agent_of_an_unknown_run_neither_reads_nor_changes() {
        assert!(ToolCaller::UnknownAgent.readable_run().is_err());
        assert!(ToolCaller::UnknownAgent.ensure_own_run(RUN, "claim").is_err());
    }
}
