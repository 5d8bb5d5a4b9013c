//! Prepares a workflow run: resolves its commands and inputs, and refuses what could not run, before anything starts.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_core::criterion::Criterion;
use ralph_core::policy::ClaimVerification;
use ralph_core::workflow::graph::{Graph, StoredGraph};
use ralph_core::workflow::{
    AgentOptions, Node, NodeContext, NodeKind, PromptText, ScriptSource, Workflow, WorktreeUse,
};
use ralph_engine::git;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{StoredAgent, StoredJudge, new_run_id};
use ralph_util::digest::sha256_hex;

use super::agents::{NodeSettings, cannot_fork_error, option_args, settings_for_node};
use super::children::{ChildAgents, ChildSources, ResolvedChildren};
use super::spec::{WORKFLOW_SPEC_VERSION, WorkflowRunSpec};
use super::trust::ensure_workflows_approved;
use crate::config::{Settings, SettingsPart, SettingsUse};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::interaction::Interaction;
use crate::plan::{choose_agent, choose_judge, select_templates};
use crate::run::refuse_recursion;
use crate::state::{StateEvidence, adopt_old_state};
use crate::trust::ensure_use_approved;
use crate::workflows::{CommandLibrary, FoundWorkflow, WorkflowCatalog, WorkflowError};

/// Where a workflow run works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowWorkspace {
    /// As the file says: a separate work tree, unless it chooses the checkout.
    AsWritten,
    /// In the checkout itself.
    Checkout,
}

/// The workflow to run, with its options.
pub struct WorkflowRunRequest<'a> {
    pub name: &'a str,
    pub message: String,
    pub inputs: BTreeMap<String, String>,
    pub workspace: WorkflowWorkspace,
    pub settings: &'a Settings,
    /// Additional arguments for the chosen agent.
    pub extra_agent_args: Vec<String>,
    pub max_cost_micros: Option<u64>,
}

/// A workflow with everything that its nodes name.
pub struct WorkflowSource {
    pub workflow: Workflow,
    pub commands: BTreeMap<String, String>,
    pub scripts: BTreeMap<String, String>,
    pub display_path: String,
    pub sha256: String,
    /// Whether its files may come from another person.
    pub is_from_project: bool,
    /// Notes for its author.
    pub notes: Vec<String>,
}

/// A workflow run that can start.
pub struct PreparedWorkflow {
    pub run: String,
    pub project: Project,
    pub message: String,
    pub spec: WorkflowRunSpec,
    pub notes: Vec<String>,
    /// The run whose finished nodes it reuses, if it is a rerun.
    pub reused: Option<ReusedRun>,
}

/// The finished nodes of an earlier run.
pub struct ReusedRun {
    pub run: String,
    pub rows: StoredGraph,
}

/// Prepares a run. Fails if it could not start, or if the user has not approved its files.
pub fn prepare_workflow_run(
    request: WorkflowRunRequest<'_>,
    project: Project,
    person: &dyn Interaction,
) -> AppResult<PreparedWorkflow> {
    refuse_recursion(&project)?;
    adopt_old_state(&project, StateEvidence::Required)?;
    let catalog = WorkflowCatalog::open(Some(&project));
    let found = catalog.find(request.name).map_err(|error| workflow_error(&error))?;
    let source = WorkflowSource::from_found(&found, &catalog.commands(), &project)?;
    let children = ChildSources::load(&source.workflow, &catalog, &project)?;
    if source.is_from_project || children.are_from_project() {
        ensure_workflows_approved(&project, person)?;
    }
    let WorkflowSource { workflow, commands, scripts, display_path, sha256, notes, .. } = source;
    Graph::compile(&workflow).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))?;
    let inputs = resolve_inputs(&workflow, &request.inputs)?;
    let agents = AgentResolver {
        workflow: &workflow,
        settings: request.settings,
        extra_args: request.extra_agent_args.clone(),
        project: &project,
    };
    let ResolvedAgents { agents, default_agent, judge, notes: agent_notes } = agents.resolve(person)?;
    let extra_args = request.extra_agent_args;
    let child_agents = ChildAgents { settings: request.settings, extra_args, project: &project, person };
    let ResolvedChildren { definitions, notes: child_notes } = children.resolve(&child_agents)?;
    let notes = notes.into_iter().chain(agent_notes).chain(child_notes).collect();
    let base_commit = git::head_commit(&project.root).ok().flatten();
    let base_branch = current_branch(&project.root);
    let run = new_run_id();
    let uses_worktree = uses_worktree(&workflow, request.workspace)?;
    let spec = WorkflowRunSpec {
        version: WORKFLOW_SPEC_VERSION,
        worktree: uses_worktree.then(|| super::worktree::worktree_name(&run)),
        workflow,
        commands,
        scripts,
        source: display_path,
        file_sha256: sha256,
        inputs,
        base_commit,
        base_branch,
        agents,
        default_agent,
        judge,
        policy: request.settings.run_policy(1, ClaimVerification::ClaimAlone),
        slots: request.settings.pipeline.slots.value,
        max_cost_micros: request.max_cost_micros,
        children: definitions,
    };
    Ok(PreparedWorkflow { run, project, message: request.message, spec, notes, reused: None })
}

impl WorkflowSource {
    /// Resolves the names of a workflow that was found.
    pub(super) fn from_found(
        found: &FoundWorkflow<'_>,
        library: &CommandLibrary,
        project: &Project,
    ) -> AppResult<Self> {
        let loaded = &found.loaded;
        let mut source = Self {
            workflow: loaded.workflow.clone(),
            commands: BTreeMap::new(),
            scripts: BTreeMap::new(),
            display_path: found.entry.display_path.clone(),
            sha256: hash_files(&loaded.files, &loaded.workflow),
            is_from_project: found.entry.origin.is_project(),
            notes: loaded.notes.iter().map(ToString::to_string).collect(),
        };
        let mut resolver = NameResolver { library, packages: &loaded.packages, project, source: &mut source };
        resolver.resolve_nodes(&loaded.workflow.nodes)?;
        Ok(source)
    }
}

/// Resolves the commands and scripts that nodes name.
struct NameResolver<'a> {
    library: &'a CommandLibrary,
    packages: &'a [PathBuf],
    project: &'a Project,
    source: &'a mut WorkflowSource,
}

impl NameResolver<'_> {
    fn resolve_nodes(&mut self, nodes: &[Node]) -> AppResult<()> {
        for node in nodes {
            match &node.kind {
                NodeKind::Agent(agent) => self.resolve_prompt(&agent.prompt)?,
                NodeKind::Loop(node) => self.resolve_prompt(&node.prompt)?,
                NodeKind::LoopGroup(group) => self.resolve_nodes(&group.nodes)?,
                NodeKind::Script(script) => {
                    if let ScriptSource::Named(name) = &script.source {
                        let found = self.library.find_script(name, script.runtime, self.packages);
                        let found = found.map_err(|error| command_error(&error))?;
                        self.note_origin(Some(&found.path));
                        let path = found.path.canonicalize().unwrap_or(found.path);
                        self.source.scripts.insert(name.clone(), path.to_string_lossy().into_owned());
                    }
                }
                NodeKind::Bash(_)
                | NodeKind::Approval(_)
                | NodeKind::Cancel { .. }
                | NodeKind::Workflow(_)
                | NodeKind::Checks(_) => {}
            }
        }
        Ok(())
    }

    fn resolve_prompt(&mut self, prompt: &PromptText) -> AppResult<()> {
        let PromptText::Command { name, .. } = prompt else { return Ok(()) };
        let found = self.library.find_command(name, self.packages).map_err(|error| command_error(&error))?;
        self.note_origin(found.path.as_deref());
        self.source.commands.insert(name.clone(), found.text);
        Ok(())
    }

    fn note_origin(&mut self, path: Option<&Path>) {
        let is_in_project =
            path.is_some_and(|path| path.starts_with(&self.project.root) || path.starts_with(&self.project.home));
        self.source.is_from_project |= is_in_project;
    }
}

fn hash_files(files: &[PathBuf], workflow: &Workflow) -> String {
    let mut content = Vec::new();
    for file in files {
        content.extend(std::fs::read(file).unwrap_or_default());
    }
    if files.is_empty() {
        content = serde_json::to_vec(workflow).unwrap_or_default();
    }
    sha256_hex(content)
}

/// Converts the error of a workflow that cannot be found or loaded.
#[must_use]
pub fn workflow_error(error: &WorkflowError) -> AppError {
    match error {
        WorkflowError::Unknown { hint, .. } => AppError::not_found(error).with_advice(hint.clone()),
        WorkflowError::Broken { problems, .. } => {
            let failure = problems.iter().fold(AppError::preflight(error), AppError::with_cause);
            let hint = problems.iter().find_map(|problem| problem.hint.clone());
            hint.into_iter().fold(failure, AppError::with_advice)
        }
    }
}

fn command_error(error: &crate::workflows::CommandError) -> AppError {
    let failure = AppError::from_error(ErrorKind::Preflight, error);
    error.hint().map(str::to_owned).into_iter().fold(failure, AppError::with_advice)
}

/// Returns the values of all inputs. Fails on unknown names, and if a required one is missing.
pub(super) fn resolve_inputs(
    workflow: &Workflow,
    given: &BTreeMap<String, String>,
) -> AppResult<BTreeMap<String, String>> {
    if let Some(unknown) = given.keys().find(|name| !workflow.inputs.contains_key(*name)) {
        let known: Vec<&str> = workflow.inputs.keys().map(String::as_str).collect();
        let error = AppError::invalid_request(format!("the workflow {} has no input {unknown:?}", workflow.name));
        return Err(match known.is_empty() {
            true => error.with_advice("it has no inputs; pass text as the message"),
            false => error.with_advice(format!("its inputs are {}", known.join(", "))),
        });
    }
    let mut inputs = BTreeMap::new();
    for (name, definition) in &workflow.inputs {
        let value = given.get(name).or(definition.default.as_ref());
        match value {
            Some(value) => drop(inputs.insert(name.clone(), value.clone())),
            None if definition.required => {
                return Err(AppError::invalid_request(format!(
                    "the workflow {} needs the input {name}",
                    workflow.name
                ))
                .with_advice(format!("pass {name}=VALUE")));
            }
            None => drop(inputs.insert(name.clone(), String::new())),
        }
    }
    Ok(inputs)
}

/// The agents of a run.
pub struct ResolvedAgents {
    pub agents: BTreeMap<String, StoredAgent>,
    pub default_agent: StoredAgent,
    pub judge: Option<StoredJudge>,
    pub notes: Vec<String>,
}

/// Checks that the agent of every node exists and honours the options of the node.
pub struct AgentResolver<'a> {
    pub workflow: &'a Workflow,
    pub settings: &'a Settings,
    pub extra_args: Vec<String>,
    pub project: &'a Project,
}

impl AgentResolver<'_> {
    pub fn resolve(&self, person: &dyn Interaction) -> AppResult<ResolvedAgents> {
        let mut agents = BTreeMap::new();
        let (mut names, mut notes) = (Vec::new(), Vec::new());
        for (node, options) in agent_nodes(&self.workflow.nodes) {
            let in_node = |error: AppError| AppError { message: format!("node {node}: {}", error.message), ..error };
            let (stored, node_notes) = self.choose(options).map_err(in_node)?;
            notes.extend(node_notes.into_iter().map(|note| format!("node {node}: {note}")));
            names.push(stored.name.clone());
            agents.insert(node.to_owned(), stored);
        }
        let (default_agent, _) = self.choose(&AgentOptions::default())?;
        let criteria = workflow_criteria(&self.workflow.nodes);
        let templates = self.template_names(&criteria)?;
        let used = SettingsUse {
            agents: names.iter().map(String::as_str).collect(),
            permission: SettingsPart::Used,
            checks: SettingsPart::Unused,
            criteria: &criteria,
            templates: &templates,
        };
        if !names.is_empty() || !criteria.is_empty() {
            ensure_use_approved(self.project, self.settings, &used, person)?;
        }
        let judge = choose_judge(self.settings, self.project, &criteria)?;
        let judge = judge.as_ref().map(StoredJudge::from_choice);
        Ok(ResolvedAgents { agents, default_agent, judge, notes })
    }

    /// Returns the templates from which the checks may be made. Their commands come with the project.
    fn template_names(&self, criteria: &[Criterion]) -> AppResult<Vec<String>> {
        if criteria.is_empty() {
            return Ok(Vec::new());
        }
        let templates = select_templates(Some(self.project), None)?;
        Ok(templates.into_iter().map(|known| known.template.name).collect())
    }

    /// Returns the agent for these options, with what the user should know about the choice.
    fn choose(&self, options: &AgentOptions) -> AppResult<(StoredAgent, Vec<String>)> {
        let NodeSettings { settings, notes } = settings_for_node(self.settings, &self.workflow.agent, options);
        let choice = choose_agent(&settings, self.project, self.extra_args.clone())?;
        option_args(choice.adapter, options)?;
        if matches!(options.context, Some(NodeContext::Resume(_))) && choice.adapter.fork_args().is_none() {
            return Err(cannot_fork_error(&choice.name));
        }
        Ok((StoredAgent::from_choice(&choice), notes))
    }
}

/// Returns the nodes with an agent.
fn agent_nodes(nodes: &[Node]) -> Vec<(&str, &AgentOptions)> {
    let mut found = Vec::new();
    for node in nodes {
        found.extend(node.kind.agent_work().map(|work| (node.id.as_str(), work.options)));
        if let NodeKind::LoopGroup(group) = &node.kind {
            found.extend(agent_nodes(&group.nodes));
        }
    }
    found
}

/// Returns all checks of these nodes.
fn workflow_criteria(nodes: &[Node]) -> Vec<Criterion> {
    let mut criteria = Vec::new();
    for node in nodes {
        match &node.kind {
            NodeKind::Checks(checks) => criteria.extend(checks.criteria.iter().cloned()),
            NodeKind::Loop(looping) => criteria.extend(looping.control.checks.iter().cloned()),
            NodeKind::LoopGroup(group) => {
                criteria.extend(group.control.checks.iter().cloned());
                criteria.extend(workflow_criteria(&group.nodes));
            }
            NodeKind::Agent(_)
            | NodeKind::Bash(_)
            | NodeKind::Script(_)
            | NodeKind::Approval(_)
            | NodeKind::Cancel { .. }
            | NodeKind::Workflow(_) => {}
        }
    }
    criteria
}

fn uses_worktree(workflow: &Workflow, workspace: WorkflowWorkspace) -> AppResult<bool> {
    match (workflow.worktree, workspace) {
        (WorktreeUse::Required, WorkflowWorkspace::Checkout) => {
            Err(AppError::invalid_request(format!("the workflow {} requires a work tree of its own", workflow.name))
                .with_cause("its file says `worktree.enabled: true`"))
        }
        (WorktreeUse::Required | WorktreeUse::Default, WorkflowWorkspace::AsWritten) => Ok(true),
        (WorktreeUse::Checkout, _) | (WorktreeUse::Default, WorkflowWorkspace::Checkout) => Ok(false),
    }
}

/// Returns the branch on which the run starts.
fn current_branch(root: &Path) -> Option<String> {
    let name = git::run_git(root, &["symbolic-ref", "--quiet", "--short", "HEAD"]).ok()?;
    let name = name.trim().to_owned();
    (!name.is_empty()).then_some(name)
}
