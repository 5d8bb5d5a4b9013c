//! Checks a graph before it runs: ids, dependencies, cycles, references and loops. Finds all problems, in a time that grows
//! linearly with the graph.
mod cycles;
mod graph_index;
mod loops;
mod problem;
mod references;
#[cfg(test)]
mod tests;

use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::definition::Workflow;
use super::node::{AgentOptions, Node, NodeContext, NodeId, NodeKind};
use crate::criterion::Criterion;
use graph_index::GraphIndex;
pub use problem::{GraphProblem, GraphProblemKind};

/// Checks the graph of a workflow. Problems are in no particular order.
#[must_use]
pub fn validate_workflow(workflow: &Workflow) -> Vec<GraphProblem> {
    let mut validator = GraphValidator { workflow, problems: Vec::new() };
    if workflow.nodes.is_empty() {
        validator.report(&[], Cow::Borrowed("nodes"), None, GraphProblemKind::EmptyGraph);
        return validator.problems;
    }
    let index = GraphIndex::new(&workflow.nodes);
    for (path, id) in index.duplicates() {
        validator.report(path, Cow::Borrowed("id"), None, GraphProblemKind::DuplicateId((*id).clone()));
    }
    validator.check_graph(&workflow.nodes, &index, &mut Vec::new());
    validator.check_result(&index);
    validator.problems
}

/// Ids with a special meaning in references.
const RESERVED_IDS: [&str; 2] = ["INPUTS", "LOOP_PREV"];

struct GraphValidator<'a> {
    workflow: &'a Workflow,
    problems: Vec<GraphProblem>,
}

impl<'a> GraphValidator<'a> {
    fn report(&mut self, path: &[usize], field: Cow<'static, str>, part: Option<&str>, kind: GraphProblemKind) {
        let part = part.map(ToString::to_string);
        self.problems.push(GraphProblem { path: path.to_vec(), field, part, kind });
    }

    /// Checks one graph, with the graphs inside it. `path` leads to it.
    fn check_graph(&mut self, nodes: &'a [Node], index: &GraphIndex<'a>, path: &mut Vec<usize>) {
        for (at, node) in nodes.iter().enumerate() {
            path.push(at);
            self.check_id(node, path);
            self.check_dependencies(node, index, path);
            self.check_context(node, index, path);
            loops::check_loops(self, node, path);
            references::check_references(self, node, index, path);
            if let NodeKind::LoopGroup(group) = &node.kind {
                self.check_graph(&group.nodes, index, path);
            }
            path.pop();
        }
        for cycle in cycles::find_cycles(nodes) {
            let first = cycle.first().copied().unwrap_or_default();
            let ids = cycle.iter().filter_map(|at| nodes.get(*at)).map(|node| node.id.clone()).collect::<Vec<_>>();
            path.push(first);
            let next = ids.get(1).or(ids.first()).map(ToString::to_string);
            self.report(path, Cow::Borrowed("depends_on"), next.as_deref(), GraphProblemKind::Cycle(ids));
            path.pop();
        }
    }

    fn check_id(&mut self, node: &Node, path: &[usize]) {
        if RESERVED_IDS.contains(&node.id.as_str()) {
            self.report(path, Cow::Borrowed("id"), None, GraphProblemKind::ReservedId(node.id.clone()));
        }
    }

    fn check_dependencies(&mut self, node: &Node, index: &GraphIndex<'_>, path: &[usize]) {
        for dependency in &node.depends_on {
            let kind = match index.find(dependency) {
                Some(found) if found.has_same_graph(path) => continue,
                Some(_) => GraphProblemKind::DependencyInGroup(dependency.clone()),
                None => GraphProblemKind::UnknownDependency {
                    id: dependency.clone(),
                    similar: index.find_similar(dependency).cloned(),
                },
            };
            self.report(path, Cow::Borrowed("depends_on"), Some(dependency.as_str()), kind);
        }
    }

    /// A session can be resumed only if an agent has had it.
    fn check_context(&mut self, node: &Node, index: &GraphIndex<'_>, path: &[usize]) {
        let Some(NodeContext::Resume(id)) = node.kind.agent_options().and_then(|options| options.context.as_ref())
        else {
            return;
        };
        let kind = match index.find(id).map(|found| found.node) {
            Some(found) if found.kind.agent_options().is_some() => return,
            Some(_) => GraphProblemKind::NotAnAgent(id.clone()),
            None => GraphProblemKind::UnknownDependency { id: id.clone(), similar: index.find_similar(id).cloned() },
        };
        self.report(path, Cow::Borrowed("context.resume"), Some(id.as_str()), kind);
    }

    /// Checks `returns` and `outcome_field`.
    fn check_result(&mut self, index: &GraphIndex<'_>) {
        let result = match &self.workflow.returns {
            Some(id) => match index.find(id).filter(|found| found.path.len() == 1) {
                Some(found) => Some(found.node),
                None => {
                    self.report(&[], Cow::Borrowed("returns"), None, GraphProblemKind::UnknownResult(id.clone()));
                    return;
                }
            },
            None => first_sink(&self.workflow.nodes),
        };
        let Some(field) = &self.workflow.outcome_field else { return };
        if !result.is_some_and(|node| node.declares_boolean(field)) {
            let kind = GraphProblemKind::OutcomeNotDeclared(field.clone());
            self.report(&[], Cow::Borrowed("outcome_field"), None, kind);
        }
    }
}

/// Returns the first node that no other node depends on: its output is the result of a workflow without `returns`.
#[must_use]
pub fn first_sink(nodes: &[Node]) -> Option<&Node> {
    find_sinks(nodes).into_iter().next()
}

/// Returns the nodes that no other node depends on, in the order of the file.
#[must_use]
pub fn find_sinks(nodes: &[Node]) -> Vec<&Node> {
    let needed: alloc::collections::BTreeSet<&NodeId> = nodes.iter().flat_map(|node| &node.depends_on).collect();
    nodes.iter().filter(|node| !needed.contains(&node.id)).collect()
}

impl NodeKind {
    /// Returns the options of the agent, if the node has one.
    #[must_use]
    pub fn agent_options(&self) -> Option<&AgentOptions> {
        match self {
            Self::Agent(agent) => Some(&agent.options),
            Self::Loop(looping) => Some(&looping.options),
            Self::Bash(_)
            | Self::Script(_)
            | Self::LoopGroup(_)
            | Self::Approval(_)
            | Self::Cancel { .. }
            | Self::Workflow(_)
            | Self::Checks(_) => None,
        }
    }
}

impl NodeKind {
    /// Returns the criteria of a checks node or a loop.
    #[must_use]
    pub fn criteria(&self) -> &[Criterion] {
        match self {
            Self::Checks(checks) => &checks.criteria,
            Self::Loop(looping) => &looping.control.checks,
            Self::LoopGroup(group) => &group.control.checks,
            Self::Agent(_)
            | Self::Bash(_)
            | Self::Script(_)
            | Self::Approval(_)
            | Self::Cancel { .. }
            | Self::Workflow(_) => &[],
        }
    }
}

impl Node {
    /// Returns whether the output has a boolean field with this name.
    fn declares_boolean(&self, field: &str) -> bool {
        let properties = self.output_format.as_ref().and_then(|format| format.get("properties"));
        let declared = properties.and_then(|properties| properties.get(field));
        declared.and_then(|declared| declared.get("type")).and_then(|kind| kind.as_str()) == Some("boolean")
    }

    /// Returns whether every output has this boolean field.
    fn requires_boolean(&self, field: &str) -> bool {
        let required = self.output_format.as_ref().and_then(|format| format.get("required"));
        let is_required = required.and_then(|names| names.as_array());
        self.declares_boolean(field) && is_required.is_some_and(|names| names.iter().any(|name| name == field))
    }

    /// Returns whether the output can have this field, as far as the node declares it.
    fn may_have_field(&self, field: &str) -> bool {
        let Some(format) = &self.output_format else { return true };
        let allows_more =
            format.get("additionalProperties").is_some_and(|more| more != &serde_json::Value::Bool(false));
        match format.get("properties").and_then(|properties| properties.as_object()) {
            Some(properties) => allows_more || properties.contains_key(field),
            None => true,
        }
    }
}
