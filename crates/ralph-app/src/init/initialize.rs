//! Prepares a project: detects its agent and its checks, writes the missing files, and approves what it has written.
use std::path::Path;

use ralph_agents as agent;
use ralph_agents::{AGENTS, AgentProgram};
use ralph_engine::project::Project;
use ralph_process as process;

use super::detect::{DetectedProject, detect_project};
use super::texts::EXAMPLE_WORKFLOW;
use super::write::{InitFileOutcome, InitFileResult, write_init_files};
use crate::advice::Advice;
use crate::config::{ConfigSource, Settings};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::run::find_calling_agent;
use crate::trust::{approve_commands, is_approved};
use crate::workflow_runs::{approve_workflows, list_workflow_files};

/// The result of preparing a project.
#[derive(Debug)]
pub struct InitReport {
    pub detected: DetectedProject,
    pub files: Vec<InitFileResult>,
    pub next_step: InitNextStep,
    /// An error if the written commands could not be approved.
    pub approval: AppResult<()>,
}

/// The next step for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitNextStep {
    /// The configuration has commands that are not approved.
    Approve,
    Plan,
}

/// Writes the missing files of a project, for this agent or the one that is installed. A new configuration is approved,
/// unless the agent of a run asks for it.
pub fn initialize_project(project: &Project, agent: Option<&str>, person: &dyn Interaction) -> AppResult<InitReport> {
    let detected = detect_setup(agent, &project.root)?;
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
    let files = write_init_files(project, &detected, &names.join(", ")).map_err(|error| {
        AppError::from_error(ErrorKind::Preflight, &error).with_advice(Advice::RepeatInitialization)
    })?;
    let settings = ConfigSource::default().load_settings(Some(project))?;
    settings.warnings.iter().for_each(|warning| person.show_note(&format!("warning: {warning}")));
    let approval = approve_new_config(project, &settings, &files).and_then(|()| approve_new_workflow(project, &files));
    let next_step = match is_approved(project, &settings) {
        Ok(true) => InitNextStep::Plan,
        Ok(false) | Err(_) => InitNextStep::Approve,
    };
    Ok(InitReport { detected, files, next_step, approval })
}

fn approve_new_config(project: &Project, settings: &Settings, files: &[InitFileResult]) -> AppResult<()> {
    let is_new_config =
        files.iter().any(|file| file.outcome == InitFileOutcome::Created && file.path.ends_with("config.yaml"));
    if !is_new_config || find_calling_agent(project).is_some() {
        return Ok(());
    }
    approve_commands(project, settings).map_err(|error| error.with_advice(Advice::ApproveWrittenCommands))
}

/// Approves the example workflow, if it is the only file of a workflow in the project.
fn approve_new_workflow(project: &Project, files: &[InitFileResult]) -> AppResult<()> {
    let is_new =
        files.iter().any(|file| file.outcome == InitFileOutcome::Created && file.path.ends_with(EXAMPLE_WORKFLOW));
    if !is_new || find_calling_agent(project).is_some() || list_workflow_files(project)?.len() != 1 {
        return Ok(());
    }
    approve_workflows(project).map_err(|error| error.with_advice(Advice::ApproveWrittenCommands))
}

fn detect_setup(agent: Option<&str>, root: &Path) -> AppResult<DetectedProject> {
    let named = AGENTS.iter().filter_map(|agent| match agent.program() {
        AgentProgram::OnPath(program) => Some((agent.name(), program)),
        AgentProgram::OwnBinary | AgentProgram::UserProvided => None,
    });
    let named: Vec<_> = named.collect();
    let found = detect_project(root, &named, |program| process::can_start_program(root, program));
    let Some(name) = agent else { return Ok(found) };
    let agent = agent::find_agent(name).map_err(|error| {
        let hint = error.hint();
        AppError::from_error(ErrorKind::InvalidRequest, &error).with_advice(hint)
    })?;
    Ok(DetectedProject { agent: Some(agent.name()), ..found })
}
