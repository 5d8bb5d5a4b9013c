//! Runs a workflow again from a node: a new run that reuses the finished nodes before it.
use std::collections::BTreeMap;
use std::path::Path;

use ralph_core::workflow::NodeId;
use ralph_core::workflow::graph::{Graph, GraphSettings, GraphState, RerunPlan};
use ralph_engine::project::Project;
use ralph_engine::run_driver::new_run_id;
use ralph_util::{private_files, suggest};

use super::journal::decode_rows;
use super::lookup::{FoundWorkflowRun, find_workflow_run};
use super::opened_run::load_spec;
use super::prepare::{AgentResolver, PreparedWorkflow, ResolvedAgents, ReusedRun, resolve_inputs};
use super::trust::ensure_workflows_approved;
use crate::config::Settings;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::run::{is_orphaned, refuse_recursion};
use crate::view::short_id;

/// Which run is repeated, and what differs.
pub struct RerunRequest<'a> {
    pub run: Option<&'a str>,
    /// The first node that runs again.
    pub from: &'a str,
    /// Inputs that replace those of the run.
    pub inputs: BTreeMap<String, String>,
    pub settings: &'a Settings,
    pub extra_agent_args: Vec<String>,
    /// Whether the agents are chosen again by the settings.
    pub replaces_agents: bool,
}

/// Prepares the new run. It works in the work tree of the first one, and has a copy of its artifacts.
pub async fn prepare_rerun(
    project: &Project,
    request: RerunRequest<'_>,
    person: &dyn Interaction,
) -> AppResult<PreparedWorkflow> {
    refuse_recursion(project)?;
    let FoundWorkflowRun { store, run: row } = find_workflow_run(project, request.run).await?;
    if let Some(parent) = &row.parent {
        return Err(AppError::preflight(format!("workflow run {} was started by another one", short_id(&row.id)))
            .with_advice(format!("repeat that one: ralph workflow rerun {} --from NODE", short_id(parent))));
    }
    let nodes = store.nodes_of_workflow_run(&row.id).await?;
    let mut spec = load_spec(&store, &row.id).await?;
    store.close().await;
    if !is_orphaned(project, &row.id) {
        return Err(AppError::preflight(format!("workflow run {} is still running", short_id(&row.id)))
            .with_advice("wait for its end, or cancel it"));
    }
    ensure_workflows_approved(project, person)?;
    let graph = Graph::compile(&spec.workflow).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))?;
    let from = graph.find(request.from).ok_or_else(|| unknown_node_error(&graph, request.from))?;
    let rows = decode_rows(&nodes).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))?;
    let settings = GraphSettings {
        slots: spec.slots.max(1),
        max_commands: GraphSettings::DEFAULT_MAX_COMMANDS,
        inputs: spec.inputs.clone(),
    };
    let state = GraphState::restore(&graph, settings, &rows);
    let rows = RerunPlan::from_node(&graph, &state, from).reused_rows(&graph, &rows);
    let mut inputs = spec.inputs.clone();
    inputs.extend(request.inputs);
    spec.inputs = resolve_inputs(&spec.workflow, &inputs)?;
    let mut notes = Vec::new();
    if request.replaces_agents {
        let resolver = AgentResolver {
            workflow: &spec.workflow,
            settings: request.settings,
            extra_args: request.extra_agent_args.clone(),
            project,
        };
        let ResolvedAgents { agents, default_agent, judge, notes: found } = resolver.resolve(person)?;
        (spec.agents, spec.default_agent, spec.judge, notes) = (agents, default_agent, judge, found);
        for child in spec.children.values_mut() {
            let resolver = AgentResolver {
                workflow: &child.workflow,
                settings: request.settings,
                extra_args: request.extra_agent_args.clone(),
                project,
            };
            let ResolvedAgents { agents, default_agent, judge, .. } = resolver.resolve(person)?;
            (child.agents, child.default_agent, child.judge) = (agents, default_agent, judge);
        }
    }
    let run = new_run_id();
    copy_artifacts(project, &row.id, &run)
        .map_err(|error| AppError::preflight("the artifacts of the run cannot be copied").with_cause(error))?;
    let reused = Some(ReusedRun { run: row.id, rows });
    Ok(PreparedWorkflow { run, project: project.clone(), message: row.message, spec, notes, reused })
}

fn unknown_node_error(graph: &Graph, name: &str) -> AppError {
    let ids: Vec<&str> = graph.nodes().map(|(_, node)| NodeId::as_str(node.id())).collect();
    AppError::invalid_request(format!("the workflow has no node {name:?}"))
        .with_advice(suggest::suggestion_hint(name, &ids))
}

fn copy_artifacts(project: &Project, from: &str, to: &str) -> std::io::Result<()> {
    let source = project.run_folder(from).join("artifacts");
    if !source.is_dir() {
        return Ok(());
    }
    copy_folder(&source, &project.run_folder(to).join("artifacts"))
}

/// Copies files and folders. Links are not followed.
fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    private_files::ensure_folder(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
