//! The workflow of a dry run, with the workflows that its nodes start, as far as they exist.
use std::collections::BTreeMap;

use ralph_core::workflow::Workflow;
use ralph_core::workflow::graph::Graph;
use ralph_engine::project::Project;

use super::node_inputs::command_names;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::workflow_runs::prepare::workflow_error;
use crate::workflow_runs::spec::child_nodes;
use crate::workflows::{FoundWorkflow, WorkflowCatalog};

/// A workflow with the command files that exist.
pub struct WalkedWorkflow {
    pub workflow: Workflow,
    pub commands: BTreeMap<String, String>,
}

/// A workflow with those that its nodes start, directly or not.
pub struct DryRunSource {
    pub root: WalkedWorkflow,
    /// By their names. Those that cannot be loaded are not here: their nodes have default outputs.
    pub children: BTreeMap<String, WalkedWorkflow>,
    /// Notes: the additional needs of a real run, and hints for the author.
    pub notes: Vec<String>,
}

/// Loads a workflow by its name. Nothing is written, and nothing needs an approval.
pub fn load_dry_run_source(project: Option<&Project>, name: &str) -> AppResult<DryRunSource> {
    let catalog = WorkflowCatalog::open(project);
    let found = catalog.find(name).map_err(|error| workflow_error(&error))?;
    Ok(DryRunSource::from_found(&found, &catalog))
}

impl DryRunSource {
    pub(super) fn from_found(found: &FoundWorkflow<'_>, catalog: &WorkflowCatalog) -> Self {
        let (root, mut notes) = load_walked(found, catalog);
        let mut children = BTreeMap::new();
        let mut missing = child_names(&root.workflow);
        while let Some(name) = missing.pop() {
            if children.contains_key(&name) {
                continue;
            }
            match catalog.find(&name) {
                Ok(found) => {
                    let (child, child_notes) = load_walked(&found, catalog);
                    notes.extend(child_notes.into_iter().map(|note| format!("workflow {name}: {note}")));
                    missing.extend(child_names(&child.workflow));
                    children.insert(name, child);
                }
                Err(error) => {
                    let note = format!("a run would fail: {error}");
                    if !notes.contains(&note) {
                        notes.push(note);
                    }
                }
            }
        }
        Self { root, children, notes }
    }
}

impl WalkedWorkflow {
    pub(super) fn compile(&self) -> AppResult<Graph> {
        Graph::compile(&self.workflow).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))
    }
}

/// Returns a workflow with its commands, and notes about it.
fn load_walked(found: &FoundWorkflow<'_>, catalog: &WorkflowCatalog) -> (WalkedWorkflow, Vec<String>) {
    let loaded = &found.loaded;
    let library = catalog.commands();
    let missing = library.find_missing(&loaded.workflow.nodes, &loaded.packages);
    let notes = loaded.notes.iter().map(ToString::to_string);
    let notes = notes.chain(missing.iter().map(|error| format!("a run would fail: {error}"))).collect();
    let names = command_names(&loaded.workflow.nodes).into_iter();
    let commands = names.filter_map(|name| {
        let text = library.find_command(name, &loaded.packages).ok()?.text;
        Some((name.to_owned(), text))
    });
    (WalkedWorkflow { workflow: loaded.workflow.clone(), commands: commands.collect() }, notes)
}

fn child_names(workflow: &Workflow) -> Vec<String> {
    child_nodes(&workflow.nodes).into_iter().map(|(_, child)| child.workflow.clone()).collect()
}
