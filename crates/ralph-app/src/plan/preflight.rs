//! Checks before the first iteration whether the agents of a run can start at all.
use std::path::Path;

use ralph_agents::program_repair::ProgramRepair;
use ralph_core::budget::{Budget, UnknownCostPolicy};
use ralph_engine::run_driver::{AgentChoice, AgentJob, RunPlan};
use ralph_process as process;
use ralph_process::SpawnError;

use crate::advice::Advice;
use crate::agents::find_installed_agents;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::state::{StateEvidence, adopt_old_state};

/// Checks the state of the project and the agents of a new run.
pub fn preflight_run(plan: &RunPlan) -> AppResult<()> {
    adopt_old_state(&plan.context.project, StateEvidence::Required)?;
    plan.context.all_agents().try_for_each(|agent| preflight_agent(plan, agent, &Advice::ReplaceAgentProgram))
}

/// Checks the agents of a stored run, whose programs cannot be chosen again.
pub fn preflight_resumed_run(plan: &RunPlan) -> AppResult<()> {
    plan.context.all_agents().try_for_each(|agent| preflight_agent(plan, agent, &Advice::RestoreAgentProgram))
}

/// `advice` says where another program can be named.
fn preflight_agent(plan: &RunPlan, agent: &AgentChoice, advice: &Advice) -> AppResult<()> {
    let job = plan.build_agent_job(agent, "", &agent.session_request(None));
    let AgentJob { spec, .. } = job.map_err(|error| AppError::internal(&error))?;
    if spec.program.as_os_str().is_empty() {
        return Err(AppError::preflight(format!("the agent {} needs a program", agent.name))
            .with_advice(Advice::NameAgentProgram));
    }
    process::locate_program(&spec).map(drop).map_err(|error| agent_program_error(agent, &error, advice))?;
    require_known_cost(&plan.spec.policy.budget, agent)?;
    if agent.output_format().is_conversation() && plan.context.project.root.to_str().is_none() {
        return Err(non_utf8_root_error(&plan.context.project.root));
    }
    match agent.preflight_problem(rustix::process::geteuid().is_root()) {
        Some(blocker) => Err(AppError::preflight(blocker.problem).with_advice(blocker.hint)),
        None => Ok(()),
    }
}

/// Refuses an agent that does not report its cost, if the settings require that.
fn require_known_cost(budget: &Budget, agent: &AgentChoice) -> AppResult<()> {
    match budget.unknown_cost {
        UnknownCostPolicy::Refuse if !agent.adapter.profile().reports_cost => {
            let message = format!("the agent {} does not report its cost, but a known cost is required", agent.name);
            Err(AppError::preflight(message)
                .with_advice("choose another agent, or set `limits.require_known_cost` to false"))
        }
        UnknownCostPolicy::Refuse | UnknownCostPolicy::Allow => Ok(()),
    }
}

/// The Agent Client Protocol is text, and it names the folder.
fn non_utf8_root_error(root: &Path) -> AppError {
    AppError::preflight(format!("the name of the folder {} is not UTF-8 text", root.display()))
        .with_cause("the Agent Client Protocol cannot pass it to the agent")
        .with_advice(Advice::ChooseOtherAgent)
}

fn agent_program_error(agent: &AgentChoice, error: &SpawnError, advice: &Advice) -> AppError {
    let failure = AppError::from_error(ErrorKind::Preflight, error);
    match error {
        SpawnError::NotFound { program } => program_not_found_error(agent, program, advice),
        SpawnError::NotExecutable { program, .. } if program.is_dir() => {
            AppError::preflight(format!("the agent program {} is a folder", program.display()))
                .with_advice(advice.clone())
        }
        SpawnError::NotExecutable { .. } | SpawnError::MissingInterpreter { .. } | SpawnError::WrongFormat { .. } => {
            match ProgramRepair::for_error(error) {
                None => failure,
                Some(ProgramRepair { file_says, advice }) => {
                    let quoted = file_says.map(|message| format!("the file says: {message}"));
                    quoted.into_iter().fold(failure, AppError::with_cause).with_advice(advice)
                }
            }
        }
        SpawnError::NoSuchDirectory { .. }
        | SpawnError::ArgumentsTooLong { .. }
        | SpawnError::KeeperDied { .. }
        | SpawnError::SupervisorDied { .. }
        | SpawnError::Other { .. } => failure,
    }
}

fn program_not_found_error(agent: &AgentChoice, program: &Path, advice: &Advice) -> AppError {
    let name = program.display();
    if name.to_string().contains('/') {
        return AppError::preflight(format!("the agent program {name} does not exist")).with_advice(advice.clone());
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let installed = find_installed_agents(&std::env::current_dir().unwrap_or_default());
    let names: Vec<&str> = installed.iter().map(|agent| agent.name).collect();
    let error = AppError::preflight(format!("the agent {name} was not found on PATH"))
        .with_cause(format!("PATH is {path:?}"))
        .with_advice(Advice::InstallAgent(agent.adapter.profile().install));
    match names.is_empty() {
        true => error,
        false => error.with_cause(format!("these agents are installed: {}", names.join(", "))),
    }
}
