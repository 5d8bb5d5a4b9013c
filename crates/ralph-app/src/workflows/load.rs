//! Loads one workflow file: YAML, keys and values, includes, then the rules of the graph. Nothing is executed.
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ralph_core::workflow::validation::{GraphProblem, GraphProblemKind, validate_workflow};
use ralph_core::workflow::{Node, NodeId, NodeKind, Workflow};
use ralph_util::yaml::{self, DocumentNode, NodeContent};

use super::include::{ExpandedGraph, IncludeExpander, IncludeFinder, NodeOrigin};
use super::parser::{ParserContext, WorkflowDraft, read_workflow};
use super::problem::{FoundProblems, Position, ProblemList, WorkflowProblem};
use super::source_file::SourceFile;
use super::table::position_of;
use crate::config::TemplateLibrary;

/// Maximum size of a file: a workflow of 10,000 nodes is about 2 MB.
pub(super) const MAX_FILE_BYTES: usize = 8 << 20;

const LIMITS: yaml::DocumentLimits = yaml::DocumentLimits { depth: 64, nodes: 500_000, aliases: 1_000 };

/// A workflow that can run, with notes for its author.
#[derive(Debug, Clone)]
pub struct LoadedWorkflow {
    pub workflow: Workflow,
    pub notes: Vec<WorkflowProblem>,
    /// The files that it was read from: its own and those of its includes. Without built-in ones.
    pub files: Vec<PathBuf>,
    /// The folders of packages whose commands and scripts its nodes name.
    pub packages: Vec<PathBuf>,
    /// The number of nodes, with those in loop groups.
    pub node_count: usize,
}

/// A text to load, and what its names refer to.
pub(super) struct WorkflowText<'a> {
    pub text: String,
    /// The name for messages.
    pub name: String,
    /// The file; `None` if it is built in.
    pub path: Option<&'a Path>,
    /// The folder of the package that the file belongs to.
    pub package: Option<&'a Path>,
    pub templates: &'a TemplateLibrary,
}

/// Loads a workflow. Errors are in the order of the file.
pub(super) fn load_text(
    source: WorkflowText<'_>,
    find: &mut IncludeFinder<'_>,
) -> Result<LoadedWorkflow, Vec<WorkflowProblem>> {
    let WorkflowText { text, name, path, package, templates } = source;
    let file = Arc::new(SourceFile::new(name, text));
    let problems = ProblemList::new(Arc::clone(&file));
    let Some(root) = parse_document(&file, &problems) else { return Err(problems.into_found().errors) };
    let check_path = path.map_or_else(|| PathBuf::from(&file.name), Path::to_path_buf);
    let context = ParserContext { problems: &problems, path: &check_path, templates };
    let draft = read_workflow(&root, &context);
    let compiled = draft.map(|draft| Compiler { root: &root, problems: &problems }.compile(draft, find));
    let FoundProblems { errors, notes, .. } = problems.into_found();
    match compiled {
        Some(compiled) if errors.is_empty() => Ok(LoadedWorkflow {
            files: path.map(Path::to_path_buf).into_iter().chain(compiled.files).collect(),
            packages: package.map(Path::to_path_buf).into_iter().chain(compiled.packages).collect(),
            node_count: count_nodes(&compiled.workflow.nodes),
            workflow: compiled.workflow,
            notes,
        }),
        Some(_) | None => Err(errors),
    }
}

fn parse_document(file: &SourceFile, problems: &ProblemList) -> Option<DocumentNode> {
    let refuse = |at: Position, message: &str, hint: &str| {
        problems.add_error(at, message, Some(hint.to_owned()).filter(|hint| !hint.is_empty()));
        None
    };
    if file.text.len() > MAX_FILE_BYTES {
        let message = format!("file is larger than {} MB", MAX_FILE_BYTES >> 20);
        return refuse(Position::START, &message, "split it into several workflows");
    }
    match yaml::parse_with_limits(&file.text, &LIMITS) {
        Ok(DocumentNode { content: NodeContent::Null, .. }) => {
            refuse(Position::START, "the file is empty", "write `name:`, `description:` and `nodes:`")
        }
        Ok(root) => Some(root),
        Err(error) => {
            let at = Position { line: error.line, column: error.column };
            refuse(at, &format!("not valid YAML: {}", error.message), yaml_hint(&error.message))
        }
    }
}

fn yaml_hint(message: &str) -> &'static str {
    if message.contains("duplicate key") { "remove one of the two" } else { "" }
}

/// The graph of a file before it is returned.
struct CompiledWorkflow {
    workflow: Workflow,
    files: Vec<PathBuf>,
    packages: Vec<PathBuf>,
}

struct Compiler<'a> {
    root: &'a DocumentNode,
    problems: &'a ProblemList,
}

impl<'a> Compiler<'a> {
    fn compile(&self, draft: WorkflowDraft<'a>, find: &mut IncludeFinder<'_>) -> CompiledWorkflow {
        let mut expander = IncludeExpander::new(self.problems, find);
        let ExpandedGraph { nodes, origins } = expander.expand(draft.nodes);
        let included = expander.included();
        let workflow = Workflow {
            name: draft.name,
            description: draft.description,
            form: draft.form,
            agent: draft.agent,
            worktree: draft.worktree,
            is_interactive: draft.is_interactive || included.iter().any(|found| found.workflow.is_interactive),
            mutates_checkout: draft.mutates_checkout,
            requires_evidence: draft.requires_evidence || included.iter().any(|found| found.workflow.requires_evidence),
            inputs: draft.inputs,
            returns: draft.returns.map(|id| expander.resolve_output(id)),
            outcome_field: draft.outcome_field,
            nodes,
        };
        self.report_graph_problems(&workflow, &origins);
        CompiledWorkflow {
            workflow,
            files: included.iter().flat_map(|found| found.files.iter().cloned()).collect(),
            packages: included.iter().flat_map(|found| found.packages.iter().cloned()).collect(),
        }
    }

    fn report_graph_problems(&self, workflow: &Workflow, origins: &[NodeOrigin<'a>]) {
        // A node with an error is missing in the graph: what names it is not wrong.
        let written = if self.problems.has_errors() { collect_written_ids(self.root) } else { BTreeSet::new() };
        if workflow.nodes.is_empty() && self.problems.has_errors() {
            return;
        }
        for problem in validate_workflow(workflow) {
            let is_consequence = missing_id(&problem.kind).is_some_and(|id| written.contains(id.as_str()));
            if !is_consequence {
                self.report_graph_problem(&problem, workflow, origins);
            }
        }
    }

    fn report_graph_problem(&self, problem: &GraphProblem, workflow: &Workflow, origins: &[NodeOrigin<'a>]) {
        let place = find_origin(origins, &problem.path).map_or(self.root, |origin| origin.source);
        let node = place.nearest_node(&problem.field);
        let start = position_of(node);
        let at = problem.part.as_ref().map_or(start, |part| self.problems.file().find_part(start, part));
        let message = match find_node(&workflow.nodes, &problem.path) {
            Some(node) => format!("node {}: {}: {}", node.id, problem.field, problem.kind),
            None => problem.kind.to_string(),
        };
        if problem.is_note() {
            self.problems.add_note(at, &message, problem.hint());
        } else {
            self.problems.add_error(at, &message, problem.hint());
        }
    }
}

/// Returns the id that a problem says is missing.
fn missing_id(kind: &GraphProblemKind) -> Option<&NodeId> {
    match kind {
        GraphProblemKind::UnknownDependency { id, .. }
        | GraphProblemKind::UnknownReference { id, .. }
        | GraphProblemKind::LiteralReference { id, .. }
        | GraphProblemKind::NotUpstream { id, .. }
        | GraphProblemKind::UnknownResult(id) => Some(id),
        GraphProblemKind::DuplicateId(_)
        | GraphProblemKind::ReservedId(_)
        | GraphProblemKind::DependencyInGroup(_)
        | GraphProblemKind::Cycle(_)
        | GraphProblemKind::UndeclaredField { .. }
        | GraphProblemKind::UnknownInput { .. }
        | GraphProblemKind::NotInLoopGroup { .. }
        | GraphProblemKind::WholeAnswerCompared { .. }
        | GraphProblemKind::ReferenceInCode { .. }
        | GraphProblemKind::NotExpanded { .. }
        | GraphProblemKind::NoIterations
        | GraphProblemKind::NoCompletion
        | GraphProblemKind::CompletionFieldNotDeclared(_)
        | GraphProblemKind::NotAnAgent(_)
        | GraphProblemKind::ChildInGroup
        | GraphProblemKind::EmptyGroup
        | GraphProblemKind::EmptyGraph
        | GraphProblemKind::OutcomeNotDeclared(_)
        | GraphProblemKind::ValueAsName { .. }
        | GraphProblemKind::ValueAsProgram { .. } => None,
    }
}

/// Collects the ids of a file, also those of nodes with errors.
fn collect_written_ids(node: &DocumentNode) -> BTreeSet<&str> {
    let mut ids = BTreeSet::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match &node.content {
            NodeContent::List(items) => open.extend(items),
            NodeContent::Map(entries) => {
                for entry in entries {
                    match (&entry.node.content, entry.key.as_str()) {
                        (NodeContent::Text(id), "id") => drop(ids.insert(id.as_str())),
                        (_, "nodes" | "loop_group") => open.push(&entry.node),
                        (NodeContent::Text(_) | NodeContent::Null | NodeContent::List(_) | NodeContent::Map(_), _) => {}
                    }
                }
            }
            NodeContent::Null | NodeContent::Text(_) => {}
        }
    }
    ids
}

fn find_origin<'o, 'a>(origins: &'o [NodeOrigin<'a>], path: &[usize]) -> Option<&'o NodeOrigin<'a>> {
    let (first, rest) = path.split_first()?;
    let origin = origins.get(*first)?;
    if rest.is_empty() { Some(origin) } else { find_origin(&origin.inner, rest) }
}

fn find_node<'n>(nodes: &'n [Node], path: &[usize]) -> Option<&'n Node> {
    let (first, rest) = path.split_first()?;
    let node = nodes.get(*first)?;
    match &node.kind {
        NodeKind::LoopGroup(group) if !rest.is_empty() => find_node(&group.nodes, rest),
        NodeKind::LoopGroup(_)
        | NodeKind::Agent(_)
        | NodeKind::Bash(_)
        | NodeKind::Script(_)
        | NodeKind::Loop(_)
        | NodeKind::Approval(_)
        | NodeKind::Cancel { .. }
        | NodeKind::Workflow(_)
        | NodeKind::Checks(_) => Some(node),
    }
}

/// Counts the nodes of a graph, with those in loop groups.
fn count_nodes(nodes: &[Node]) -> usize {
    let inner = nodes.iter().map(|node| match &node.kind {
        NodeKind::LoopGroup(group) => count_nodes(&group.nodes),
        NodeKind::Agent(_)
        | NodeKind::Bash(_)
        | NodeKind::Script(_)
        | NodeKind::Loop(_)
        | NodeKind::Approval(_)
        | NodeKind::Cancel { .. }
        | NodeKind::Workflow(_)
        | NodeKind::Checks(_) => 0,
    });
    nodes.len() + inner.sum::<usize>()
}

/// Returns the name of a workflow, even if the rest of the file has errors.
pub(super) fn parse_name(text: &str) -> Option<String> {
    let root = yaml::parse_with_limits(text, &LIMITS).ok()?;
    let NodeContent::Map(entries) = &root.content else { return None };
    let name = entries.iter().find(|entry| entry.key == "name")?;
    match &name.node.content {
        NodeContent::Text(name) => Some(name.trim().to_owned()).filter(|name| !name.is_empty()),
        NodeContent::Null | NodeContent::List(_) | NodeContent::Map(_) => None,
    }
}
