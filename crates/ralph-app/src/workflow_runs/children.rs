//! Finds the workflows that the nodes of a run start, with those of their children, before anything starts.
use std::collections::BTreeMap;

use ralph_core::workflow::{ChildWorkflowNode, NodeId, Workflow, WorktreeUse};
use ralph_engine::project::Project;
use ralph_util::suggest;

use super::prepare::{AgentResolver, ResolvedAgents, WorkflowSource, workflow_error};
use super::spec::{ChildDefinition, child_nodes};
use crate::config::Settings;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::workflows::WorkflowCatalog;

/// How many workflows may start each other, the first one included.
pub(super) const MAX_DEPTH: usize = 10;

/// The workflows that a workflow starts, directly or not, by their names.
#[derive(Default)]
pub(super) struct ChildSources {
    pub sources: BTreeMap<String, WorkflowSource>,
    /// How many workflows each of them starts in a row, itself included.
    depths: BTreeMap<String, usize>,
}

impl ChildSources {
    /// Loads the children of a workflow.
    pub fn load(workflow: &Workflow, catalog: &WorkflowCatalog, project: &Project) -> AppResult<Self> {
        let mut children = Self::default();
        children.visit(workflow, &[], &SourceLoader { catalog, project })?;
        Ok(children)
    }

    /// Returns whether the files of a child may come from another person.
    pub fn are_from_project(&self) -> bool {
        self.sources.values().any(|source| source.is_from_project)
    }

    /// Chooses the agents of the children.
    pub fn resolve(self, agents: &ChildAgents<'_>) -> AppResult<ResolvedChildren> {
        let mut resolved = ResolvedChildren::default();
        for (name, source) in self.sources {
            let WorkflowSource { workflow, commands, scripts, display_path, sha256, notes, .. } = source;
            let resolver = AgentResolver {
                workflow: &workflow,
                settings: agents.settings,
                extra_args: agents.extra_args.clone(),
                project: agents.project,
            };
            let found = resolver.resolve(agents.person).map_err(|error| in_workflow(&name, error))?;
            let ResolvedAgents { agents, default_agent, judge, notes: agent_notes } = found;
            resolved.notes.extend(notes.into_iter().chain(agent_notes).map(|note| format!("workflow {name}: {note}")));
            let definition = ChildDefinition {
                workflow,
                commands,
                scripts,
                source: display_path,
                file_sha256: sha256,
                agents,
                default_agent,
                judge,
            };
            resolved.definitions.insert(name, definition);
        }
        Ok(resolved)
    }

    /// Loads the children of a workflow that is started by those in `path`. Returns how many workflows are in a row.
    fn visit(&mut self, workflow: &Workflow, path: &[&str], loader: &SourceLoader<'_>) -> AppResult<usize> {
        let path: Vec<&str> = path.iter().copied().chain([workflow.name.as_str()]).collect();
        let mut depth = 1;
        for (node, child) in child_nodes(&workflow.nodes) {
            let name = child.workflow.as_str();
            let in_node = |error: AppError| in_workflow(&workflow.name, in_node(node, error));
            if path.contains(&name) {
                return Err(in_node(recursion_error(&path, name)));
            }
            let below = match self.depths.get(name) {
                Some(below) => *below,
                None if path.len() >= MAX_DEPTH => return Err(in_node(depth_error(&path, name))),
                None => {
                    let source = loader.load(name).map_err(in_node)?;
                    let below = self.visit(&source.workflow, &path, loader)?;
                    self.sources.insert(name.to_owned(), source);
                    self.depths.insert(name.to_owned(), below);
                    below
                }
            };
            if path.len() + below > MAX_DEPTH {
                return Err(in_node(depth_error(&path, name)));
            }
            if let Some(source) = self.sources.get(name) {
                check_call(child, &source.workflow).map_err(in_node)?;
            }
            depth = depth.max(below + 1);
        }
        Ok(depth)
    }
}

/// How the agents of children are chosen.
pub(super) struct ChildAgents<'a> {
    pub settings: &'a Settings,
    pub extra_args: Vec<String>,
    pub project: &'a Project,
    pub person: &'a dyn Interaction,
}

/// The children of a run with their agents.
#[derive(Default)]
pub(super) struct ResolvedChildren {
    pub definitions: BTreeMap<String, ChildDefinition>,
    pub notes: Vec<String>,
}

struct SourceLoader<'a> {
    catalog: &'a WorkflowCatalog,
    project: &'a Project,
}

impl SourceLoader<'_> {
    fn load(&self, name: &str) -> AppResult<WorkflowSource> {
        let found = self.catalog.find(name);
        // The name is in a file, so that the command line is not at fault.
        let found = found.map_err(|error| AppError { kind: ErrorKind::Preflight, ..workflow_error(&error) })?;
        WorkflowSource::from_found(&found, &self.catalog.commands(), self.project)
    }
}

/// Checks that a child gets the inputs that it declares, and that it can work where the node says.
pub(super) fn check_call(child: &ChildWorkflowNode, target: &Workflow) -> AppResult<()> {
    let known: Vec<&str> = target.inputs.keys().map(String::as_str).collect();
    if let Some(unknown) = child.with.keys().find(|name| !known.contains(&name.as_str())) {
        let error = AppError::preflight(format!("the workflow {} has no input {unknown:?}", target.name));
        return Err(match known.is_empty() {
            true => error.with_advice("it has no inputs; pass text with `input:`"),
            false => error.with_advice(suggest::suggestion_hint(unknown, &known)),
        });
    }
    let item = child.fan_out.as_ref().map(|fan_out| fan_out.item_name.as_str());
    let is_given = |name: &str| child.with.contains_key(name) || item == Some(name);
    let is_missing = |name: &&str| target.inputs.get(*name).is_some_and(|input| input.required) && !is_given(name);
    if let Some(missing) = known.iter().copied().find(|name| is_missing(name)) {
        return Err(AppError::preflight(format!("the workflow {} needs the input {missing}", target.name))
            .with_advice(format!("write it below `with:`, as `{missing}: VALUE`")));
    }
    if let Some(item) = item.filter(|item| child.input.is_some() && !known.contains(item)) {
        return Err(AppError::preflight(format!("the workflow {} has no input {item:?} for the item", target.name))
            .with_advice(format!("declare the input {item} there, or remove `input:`: the item is then the message")));
    }
    if child.own_worktree && target.worktree == WorktreeUse::Checkout {
        return Err(AppError::preflight(format!(
            "the workflow {} works in the checkout (`worktree.enabled: false`), but the node has `isolation: worktree`",
            target.name
        ))
        .with_advice("remove one of the two"));
    }
    Ok(())
}

pub(super) fn recursion_error(path: &[&str], name: &str) -> AppError {
    let cycle: Vec<&str> = path.iter().copied().skip_while(|started| *started != name).chain([name]).collect();
    AppError::preflight(format!("the workflow {name} starts itself: {}", cycle.join(" -> ")))
        .with_advice("a workflow cannot start itself, directly or through others; use a loop or `fan_out`")
}

pub(super) fn depth_error(path: &[&str], name: &str) -> AppError {
    AppError::preflight(format!("more than {MAX_DEPTH} workflows start each other: {} -> {name}", path.join(" -> ")))
        .with_advice("start fewer workflows inside of each other; `include:` adds nodes without a run of its own")
}

fn in_node(node: &NodeId, error: AppError) -> AppError {
    AppError { message: format!("node {node}: {}", error.message), ..error }
}

fn in_workflow(workflow: &str, error: AppError) -> AppError {
    AppError { message: format!("workflow {workflow}, {}", error.message), ..error }
}
