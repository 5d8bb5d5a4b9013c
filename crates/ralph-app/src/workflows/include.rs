//! Replaces includes by the nodes of the included workflows, which are valid by themselves.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ralph_core::workflow::condition::{Comparison, Condition};
use ralph_core::workflow::validation::{find_sinks, first_sink};
use ralph_core::workflow::{
    AgentDefaults, AgentOptions, Node, NodeContext, NodeId, NodeKind, TextReference, ValueReference, find_references,
};
use ralph_util::yaml::DocumentNode;
use serde_json::Value;

use super::load::LoadedWorkflow;
use super::parser::{DraftContent, DraftNode, IncludeNode};
use super::problem::ProblemList;
use super::table::position_of;

/// Finds an included workflow by name, or says why it cannot be included.
pub(super) type IncludeFinder<'f> = dyn FnMut(&str) -> Result<Arc<LoadedWorkflow>, IncludeError> + 'f;

/// Why a workflow cannot be included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IncludeError {
    pub message: String,
    pub hint: String,
}

/// A graph without includes, and the origin of each node.
pub(super) struct ExpandedGraph<'a> {
    pub nodes: Vec<Node>,
    pub origins: Vec<NodeOrigin<'a>>,
}

/// The part of the file that a node comes from.
pub(super) struct NodeOrigin<'a> {
    pub source: &'a DocumentNode,
    /// The origins of the nodes in a loop group.
    pub inner: Vec<NodeOrigin<'a>>,
}

/// Expands the includes of one file.
pub(super) struct IncludeExpander<'e, 'f> {
    problems: &'e ProblemList,
    find: &'e mut IncludeFinder<'f>,
    /// The meaning of the id of each include.
    results: BTreeMap<NodeId, IncludeResult>,
    /// The included workflows.
    included: Vec<Arc<LoadedWorkflow>>,
    /// How many nodes there are.
    node_count: usize,
}

/// The meaning of the id of an include in the graph around it.
struct IncludeResult {
    /// The nodes that a dependant waits for.
    sinks: Vec<NodeId>,
    /// The node whose output is the output of the include.
    output: NodeId,
}

/// Most nodes of a workflow with all its includes.
const MAX_NODES: usize = 100_000;
/// Most comparisons of a condition, as for a condition of a file.
const MAX_COMPARISONS: usize = 512;

impl<'e, 'f> IncludeExpander<'e, 'f> {
    pub(super) fn new(problems: &'e ProblemList, find: &'e mut IncludeFinder<'f>) -> Self {
        Self { problems, find, results: BTreeMap::new(), included: Vec::new(), node_count: 0 }
    }

    /// Returns the workflows that were included.
    pub(super) fn included(&self) -> Vec<Arc<LoadedWorkflow>> {
        self.included.clone()
    }

    /// Expands a whole workflow.
    pub(super) fn expand<'a>(&mut self, drafts: Vec<DraftNode<'a>>) -> ExpandedGraph<'a> {
        let mut graph = self.expand_graph(drafts);
        if !self.results.is_empty() {
            let ids = collect_ids(&graph.nodes);
            self.report_taken_ids(&ids, &graph);
            graph.nodes.iter_mut().for_each(|node| self.resolve_include_ids(node));
        }
        graph
    }

    fn expand_graph<'a>(&mut self, drafts: Vec<DraftNode<'a>>) -> ExpandedGraph<'a> {
        let mut graph = ExpandedGraph { nodes: Vec::new(), origins: Vec::new() };
        for DraftNode { content, source } in drafts {
            match content {
                DraftContent::Node(node) => {
                    self.node_count += 1;
                    graph.nodes.push(*node);
                    graph.origins.push(NodeOrigin { source, inner: Vec::new() });
                }
                DraftContent::Group { mut node, nodes } => {
                    self.node_count += 1;
                    let inner = self.expand_graph(nodes);
                    if let NodeKind::LoopGroup(group) = &mut node.kind {
                        group.nodes = inner.nodes;
                    }
                    graph.nodes.push(*node);
                    graph.origins.push(NodeOrigin { source, inner: inner.origins });
                }
                DraftContent::Include(include) => {
                    for node in self.expand_include(&include, source) {
                        graph.origins.push(NodeOrigin { source, inner: included_origins(&node, source) });
                        graph.nodes.push(node);
                    }
                }
            }
        }
        graph
    }

    fn expand_include(&mut self, include: &IncludeNode, source: &DocumentNode) -> Vec<Node> {
        let report = |field: &str, message: &str, hint: &str| {
            let at = position_of(source.nearest_node(field));
            let message = format!("node {}: {field}: {message}", include.id);
            self.problems.add_error(at, &message, Some(hint.to_owned()));
        };
        let found = match (self.find)(&include.workflow) {
            Ok(found) => found,
            Err(error) => {
                report("include", &error.message, &error.hint);
                self.add_placeholder(include);
                return Vec::new();
            }
        };
        self.node_count += found.node_count;
        if self.node_count > MAX_NODES {
            report("include", &format!("more than {MAX_NODES} nodes with all includes"), "use child workflows");
            self.add_placeholder(include);
            return Vec::new();
        }
        let inputs = bind_inputs(include, &found, &report);
        let mut nodes = found.workflow.nodes.clone();
        let place = IncludePlace { include, inputs: &inputs, agent: &found.workflow.agent, ids: collect_ids(&nodes) };
        if nodes.iter_mut().any(|node| place.move_node(node, true).is_err()) {
            report("when", "too long together with the conditions of the included nodes", "shorten the condition");
        }
        self.add_result(include, &found, &place);
        self.included.push(found);
        nodes
    }

    /// Keeps the id of an include that failed, so that its dependants cause no further errors.
    fn add_placeholder(&mut self, include: &IncludeNode) {
        let result = IncludeResult { sinks: Vec::new(), output: include.id.clone() };
        self.results.insert(include.id.clone(), result);
    }

    fn add_result(&mut self, include: &IncludeNode, found: &LoadedWorkflow, place: &IncludePlace<'_>) {
        let nodes = &found.workflow.nodes;
        let output = found.workflow.returns.clone().or_else(|| first_sink(nodes).map(|node| node.id.clone()));
        let result = IncludeResult {
            sinks: find_sinks(nodes).into_iter().map(|node| place.new_id(&node.id)).collect(),
            output: output.map_or_else(|| include.id.clone(), |id| place.new_id(&id)),
        };
        self.results.insert(include.id.clone(), result);
    }

    fn report_taken_ids(&self, ids: &BTreeSet<NodeId>, graph: &ExpandedGraph<'_>) {
        for id in self.results.keys().filter(|id| ids.contains(id)) {
            let at = graph.origins.first().map_or(super::problem::Position::START, |origin| position_of(origin.source));
            let hint = "give each node an id of its own".to_owned();
            self.problems.add_error(at, &format!("the include {id} and another node have the same id"), Some(hint));
        }
    }

    /// Replaces the ids of includes by those of included nodes.
    fn resolve_include_ids(&self, node: &mut Node) {
        let written = std::mem::take(&mut node.depends_on);
        for id in written {
            match self.results.get(&id) {
                Some(result) => node.depends_on.extend(result.sinks.iter().cloned()),
                None => node.depends_on.push(id),
            }
        }
        rename_in_node(node, &|id| self.results.get(id).map(|result| result.output.clone()));
        if let NodeKind::LoopGroup(group) = &mut node.kind {
            group.nodes.iter_mut().for_each(|inner| self.resolve_include_ids(inner));
        }
    }

    /// Returns the node that an id of the file means.
    pub(super) fn resolve_output(&self, id: NodeId) -> NodeId {
        self.results.get(&id).map_or(id, |result| result.output.clone())
    }
}

fn included_origins<'a>(node: &Node, source: &'a DocumentNode) -> Vec<NodeOrigin<'a>> {
    let NodeKind::LoopGroup(group) = &node.kind else { return Vec::new() };
    group.nodes.iter().map(|inner| NodeOrigin { source, inner: included_origins(inner, source) }).collect()
}

fn collect_ids(nodes: &[Node]) -> BTreeSet<NodeId> {
    let mut ids = BTreeSet::new();
    add_ids(nodes, &mut ids);
    ids
}

fn add_ids(nodes: &[Node], ids: &mut BTreeSet<NodeId>) {
    for node in nodes {
        ids.insert(node.id.clone());
        if let NodeKind::LoopGroup(group) = &node.kind {
            add_ids(&group.nodes, ids);
        }
    }
}

/// Returns a value for every input of the included workflow.
fn bind_inputs(
    include: &IncludeNode,
    found: &LoadedWorkflow,
    report: &dyn Fn(&str, &str, &str),
) -> BTreeMap<String, Value> {
    let declared = &found.workflow.inputs;
    let mut bound = include.with.clone();
    for name in include.with.keys().filter(|name| !declared.is_empty() && !declared.contains_key(*name)) {
        let known: Vec<&str> = declared.keys().map(String::as_str).collect();
        let hint = ralph_util::suggest::suggestion_hint(name, &known);
        report(&format!("with.{name}"), &format!("{} has no such input", include.workflow), &hint);
    }
    for (name, input) in declared {
        match (bound.contains_key(name), &input.default) {
            (true, _) => {}
            (false, Some(default)) => drop(bound.insert(name.clone(), Value::String(default.clone()))),
            (false, None) if input.required => {
                let message = format!("{} needs the input {name}", include.workflow);
                report("with", &message, &format!("add `{name}:` below `with:`"));
            }
            (false, None) => drop(bound.insert(name.clone(), Value::String(String::new()))),
        }
    }
    bound
}

/// How the nodes of a workflow change when it is included.
struct IncludePlace<'p> {
    include: &'p IncludeNode,
    inputs: &'p BTreeMap<String, Value>,
    agent: &'p AgentDefaults,
    /// The ids of the included workflow.
    ids: BTreeSet<NodeId>,
}

/// The condition of an included node became too long.
struct ConditionTooLong;

impl IncludePlace<'_> {
    fn new_id(&self, id: &NodeId) -> NodeId {
        NodeId(format!("{}__{id}", self.include.id))
    }

    fn move_node(&self, node: &mut Node, is_top: bool) -> Result<(), ConditionTooLong> {
        rename_in_node(node, &|id| self.ids.contains(id).then(|| self.new_id(id)));
        node.id = self.new_id(&node.id);
        for dependency in &mut node.depends_on {
            *dependency = self.new_id(dependency);
        }
        self.bind_node_inputs(node);
        fill_agent_defaults(node, self.agent);
        if is_top {
            if node.depends_on.is_empty() {
                node.depends_on.clone_from(&self.include.depends_on);
                node.trigger_rule = self.include.trigger_rule;
            }
            node.when = join_conditions(self.include.when.as_ref(), node.when.take())?;
        }
        if let NodeKind::LoopGroup(group) = &mut node.kind {
            group.nodes.iter_mut().try_for_each(|inner| self.move_node(inner, false))?;
        }
        Ok(())
    }

    /// Gives a node the inputs of this include. A node that a nested include has moved keeps its own, whose texts may
    /// refer to the inputs of this include.
    fn bind_node_inputs(&self, node: &mut Node) {
        if node.inputs.is_empty() {
            node.inputs.clone_from(self.inputs);
            return;
        }
        node.inputs.values_mut().for_each(|value| replace_inputs(value, self.inputs));
    }
}

/// Replaces `$INPUTS.NAME` in the strings of a value.
fn replace_inputs(value: &mut Value, inputs: &BTreeMap<String, Value>) {
    match value {
        Value::String(text) => {
            let whole = text.strip_prefix("$INPUTS.").and_then(|name| inputs.get(name));
            match whole {
                Some(bound) => *value = bound.clone(),
                None => {
                    *text = replace_references(text, &|reference| match reference {
                        ValueReference::Input { name } => inputs.get(name).map(value_text),
                        ValueReference::Output { .. } | ValueReference::PreviousOutput { .. } => None,
                    });
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_inputs(item, inputs)),
        Value::Object(members) => members.values_mut().for_each(|member| replace_inputs(member, inputs)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn value_text(value: &Value) -> String {
    ralph_core::workflow::value_text(value).into_owned()
}

/// Replaces references in a text.
fn replace_references(text: &str, replace: &dyn Fn(&ValueReference) -> Option<String>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for found in find_references(text) {
        let TextReference::Value(reference) = &found.reference else { continue };
        let Some(replacement) = replace(reference) else { continue };
        result.push_str(text.get(from..found.range.start).unwrap_or_default());
        result.push_str(&replacement);
        from = found.range.end;
    }
    result.push_str(text.get(from..).unwrap_or_default());
    result
}

/// Renames nodes in the references of a node: its texts, its condition, and the session that it resumes.
fn rename_in_node(node: &mut Node, rename: &dyn Fn(&NodeId) -> Option<NodeId>) {
    node.change_texts(&mut |text| {
        *text = replace_references(text, &|reference| rename_reference(reference, rename).map(|new| new.to_string()));
    });
    if let Some(condition) = &mut node.when {
        for comparison in condition.any_of.iter_mut().flatten() {
            if let Some(renamed) = rename_reference(&comparison.left, rename) {
                comparison.left = renamed;
            }
        }
    }
    if let Some(NodeContext::Resume(id)) =
        agent_options_mut(&mut node.kind).and_then(|options| options.context.as_mut())
        && let Some(renamed) = rename(id)
    {
        *id = renamed;
    }
}

fn rename_reference(reference: &ValueReference, rename: &dyn Fn(&NodeId) -> Option<NodeId>) -> Option<ValueReference> {
    match reference {
        ValueReference::Output { node, field } => {
            Some(ValueReference::Output { node: rename(node)?, field: field.clone() })
        }
        ValueReference::PreviousOutput { node, field } => {
            Some(ValueReference::PreviousOutput { node: rename(node)?, field: field.clone() })
        }
        ValueReference::Input { .. } => None,
    }
}

fn agent_options_mut(kind: &mut NodeKind) -> Option<&mut AgentOptions> {
    match kind {
        NodeKind::Agent(agent) => Some(&mut agent.options),
        NodeKind::Loop(looping) => Some(&mut looping.options),
        NodeKind::Bash(_)
        | NodeKind::Script(_)
        | NodeKind::LoopGroup(_)
        | NodeKind::Approval(_)
        | NodeKind::Cancel { .. }
        | NodeKind::Workflow(_)
        | NodeKind::Checks(_) => None,
    }
}

/// The agent and model of the included workflow stay with its nodes.
fn fill_agent_defaults(node: &mut Node, agent: &AgentDefaults) {
    let Some(options) = agent_options_mut(&mut node.kind) else { return };
    if options.provider.is_none() {
        options.provider.clone_from(&agent.provider);
        options.model = options.model.take().or_else(|| agent.model.clone());
    }
    options.effort = options.effort.take().or_else(|| agent.effort.clone());
}

/// Returns a condition that holds if both do.
fn join_conditions(outer: Option<&Condition>, inner: Option<Condition>) -> Result<Option<Condition>, ConditionTooLong> {
    let (Some(outer), Some(inner)) = (outer, inner.as_ref()) else { return Ok(inner.or_else(|| outer.cloned())) };
    let join = |first: &Vec<Comparison>| {
        let first = first.clone();
        inner.any_of.iter().map(move |second| first.iter().chain(second).cloned().collect::<Vec<_>>())
    };
    if outer.any_of.len().saturating_mul(inner.any_of.len()) > MAX_COMPARISONS {
        return Err(ConditionTooLong);
    }
    let any_of = outer.any_of.iter().flat_map(join).collect();
    Ok(Some(Condition { any_of, source: format!("({}) && ({})", outer.source, inner.source) }))
}
