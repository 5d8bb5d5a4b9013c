//! The compiled form of a workflow: all nodes in one list, loop groups included, with their dependants by position.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::workflow::{LoopGroupNode, Node, NodeId, NodeKind, Workflow, WorkflowForm};

/// The position of a node. A group comes before its nodes; else the order is that of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeIndex(u32);

impl NodeIndex {
    pub(super) fn at(position: usize) -> Self {
        Self(u32::try_from(position).unwrap_or(u32::MAX))
    }

    pub(super) fn position(self) -> usize {
        self.0 as usize
    }
}

/// A workflow, ready to run. Compiling takes time linear in its nodes and dependencies.
#[derive(Debug, Clone)]
pub struct Graph {
    nodes: Vec<CompiledNode>,
    top_level: Scope,
    by_key: BTreeMap<String, NodeIndex>,
    form: WorkflowForm,
    steps: u32,
    returns: Option<NodeIndex>,
    outcome_field: Option<String>,
}

/// The nodes of the workflow itself, or of a loop group.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// In the order of the file.
    pub nodes: Vec<NodeIndex>,
    /// The nodes without dependants, in the order of the file.
    pub sinks: Vec<NodeIndex>,
}

#[derive(Debug, Clone)]
pub struct CompiledNode {
    /// Without the nodes of a loop group: see `scope`.
    pub definition: Node,
    /// The ids of the surrounding groups and its own, joined by `/`.
    pub key: String,
    /// The loop group that it belongs to.
    pub group: Option<NodeIndex>,
    /// Without duplicates, in the order of the file.
    pub dependencies: Vec<NodeIndex>,
    pub dependants: Vec<NodeIndex>,
    /// Its nodes, if it is a loop group.
    pub scope: Scope,
    /// One more than the steps that it waits for: nodes of a `parallel` step have the same number.
    pub step: u32,
}

impl CompiledNode {
    #[must_use]
    pub fn id(&self) -> &NodeId {
        &self.definition.id
    }
}

/// Why a workflow cannot be compiled. The loader reports the same with positions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    #[error("node id {key} occurs twice")]
    DuplicateId { key: String },
    #[error("node {key} depends on {dependency}, which does not exist in its graph")]
    UnknownDependency { key: String, dependency: NodeId },
    #[error("node {key} depends on itself, directly or through other nodes")]
    Cycle { key: String },
    #[error("loop group {key} has no nodes")]
    EmptyGroup { key: String },
    #[error("the workflow returns node {node}, which does not exist")]
    UnknownResult { node: NodeId },
    #[error("the workflow has too many nodes")]
    TooManyNodes,
}

impl Graph {
    /// Compiles a workflow.
    ///
    /// # Errors
    ///
    /// Returns an error if the graph is invalid. The loader has refused such files.
    pub fn compile(workflow: &Workflow) -> Result<Self, GraphError> {
        let mut graph = Self {
            nodes: Vec::new(),
            top_level: Scope::default(),
            by_key: BTreeMap::new(),
            form: workflow.form,
            steps: 0,
            returns: None,
            outcome_field: workflow.outcome_field.clone(),
        };
        graph.top_level = graph.add_scope(&workflow.nodes, None)?;
        let last_steps = graph.top_level.sinks.iter().filter_map(|sink| graph.node(*sink)).map(|node| node.step);
        graph.steps = last_steps.max().unwrap_or_default();
        if let Some(id) = &workflow.returns {
            let node = graph.find(id.as_str()).ok_or_else(|| GraphError::UnknownResult { node: id.clone() })?;
            graph.returns = Some(node);
        }
        u32::try_from(graph.nodes.len()).map_err(|_| GraphError::TooManyNodes)?;
        Ok(graph)
    }

    /// Returns a node of the graph. Every index that the graph gave is valid.
    #[must_use]
    pub fn node(&self, index: NodeIndex) -> Option<&CompiledNode> {
        self.nodes.get(index.position())
    }

    /// Returns all nodes, those of loop groups too.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeIndex, &CompiledNode)> {
        self.nodes.iter().enumerate().map(|(position, node)| (NodeIndex::at(position), node))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the nodes outside of groups.
    #[must_use]
    pub fn top_level(&self) -> &Scope {
        &self.top_level
    }

    /// Returns the node with this key.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<NodeIndex> {
        self.by_key.get(key).copied()
    }

    /// Returns the node that an id means in the texts of `from`: a node of its group, or of a group around that.
    #[must_use]
    pub fn find_from(&self, from: NodeIndex, id: &NodeId) -> Option<NodeIndex> {
        let mut group = self.node(from)?.group;
        loop {
            let Some(surrounding) = group.and_then(|group| self.node(group)) else { return self.find(id.as_str()) };
            if let Some(found) = self.find(&nested_key(&surrounding.key, id)) {
                return Some(found);
            }
            group = surrounding.group;
        }
    }

    /// Returns the node whose output is the result, if the workflow names one.
    #[must_use]
    pub fn returns(&self) -> Option<NodeIndex> {
        self.returns
    }

    #[must_use]
    pub fn outcome_field(&self) -> Option<&str> {
        self.outcome_field.as_deref()
    }

    /// Returns the number of steps, for a workflow with `steps`.
    #[must_use]
    pub fn step_count(&self) -> Option<u32> {
        match self.form {
            WorkflowForm::Steps => Some(self.steps),
            WorkflowForm::Loop | WorkflowForm::Nodes => None,
        }
    }

    pub(super) fn scope(&self, group: Option<NodeIndex>) -> &Scope {
        group.and_then(|group| self.node(group)).map_or(&self.top_level, |node| &node.scope)
    }

    fn add_scope(&mut self, nodes: &[Node], group: Option<NodeIndex>) -> Result<Scope, GraphError> {
        let mut members = Vec::with_capacity(nodes.len());
        for node in nodes {
            members.push(self.add_node(node, group)?);
        }
        let by_id: BTreeMap<&NodeId, NodeIndex> =
            nodes.iter().zip(&members).map(|(node, index)| (&node.id, *index)).collect();
        for (node, index) in nodes.iter().zip(&members) {
            self.connect(node, *index, &by_id)?;
        }
        self.number_steps(&members)?;
        let is_sink = |index: &&NodeIndex| self.node(**index).is_some_and(|node| node.dependants.is_empty());
        let sinks = members.iter().filter(is_sink).copied().collect();
        Ok(Scope { nodes: members, sinks })
    }

    fn add_node(&mut self, node: &Node, group: Option<NodeIndex>) -> Result<NodeIndex, GraphError> {
        let index = NodeIndex::at(self.nodes.len());
        let key = match group.and_then(|group| self.node(group)) {
            Some(group) => nested_key(&group.key, &node.id),
            None => node.id.to_string(),
        };
        if self.by_key.insert(key.clone(), index).is_some() {
            return Err(GraphError::DuplicateId { key });
        }
        self.nodes.push(CompiledNode {
            definition: without_members(node),
            key: key.clone(),
            group,
            dependencies: Vec::new(),
            dependants: Vec::new(),
            scope: Scope::default(),
            step: 1,
        });
        if let NodeKind::LoopGroup(members) = &node.kind {
            let scope = self.add_scope(&members.nodes, Some(index))?;
            if scope.nodes.is_empty() {
                return Err(GraphError::EmptyGroup { key });
            }
            if let Some(compiled) = self.nodes.get_mut(index.position()) {
                compiled.scope = scope;
            }
        }
        Ok(index)
    }

    fn connect(
        &mut self,
        node: &Node,
        index: NodeIndex,
        by_id: &BTreeMap<&NodeId, NodeIndex>,
    ) -> Result<(), GraphError> {
        let mut dependencies = BTreeSet::new();
        for id in &node.depends_on {
            let Some(dependency) = by_id.get(id).copied() else {
                let key = self.node(index).map(|node| node.key.clone()).unwrap_or_default();
                return Err(GraphError::UnknownDependency { key, dependency: id.clone() });
            };
            dependencies.insert(dependency);
        }
        for dependency in &dependencies {
            if let Some(dependency) = self.nodes.get_mut(dependency.position()) {
                dependency.dependants.push(index);
            }
        }
        if let Some(compiled) = self.nodes.get_mut(index.position()) {
            compiled.dependencies = dependencies.into_iter().collect();
        }
        Ok(())
    }

    /// Numbers the nodes by the longest chain before them, and finds cycles.
    fn number_steps(&mut self, members: &[NodeIndex]) -> Result<(), GraphError> {
        let dependency_count = |index: &NodeIndex| self.node(*index).map_or(0, |node| node.dependencies.len());
        let mut waiting: BTreeMap<NodeIndex, usize> =
            members.iter().map(|index| (*index, dependency_count(index))).collect();
        let is_first = |index: &&NodeIndex| waiting.get(*index) == Some(&0);
        let mut ready: VecDeque<NodeIndex> = members.iter().filter(is_first).copied().collect();
        while let Some(index) = ready.pop_front() {
            waiting.remove(&index);
            let Some(node) = self.node(index) else { continue };
            let (next_step, dependants) = (node.step.saturating_add(1), node.dependants.clone());
            for dependant in dependants {
                if let Some(node) = self.nodes.get_mut(dependant.position()) {
                    node.step = node.step.max(next_step);
                }
                if let Some(count) = waiting.get_mut(&dependant) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push_back(dependant);
                    }
                }
            }
        }
        match waiting.keys().next().and_then(|index| self.node(*index)) {
            Some(node) => Err(GraphError::Cycle { key: node.key.clone() }),
            None => Ok(()),
        }
    }
}

fn nested_key(group: &str, id: &NodeId) -> String {
    format!("{group}/{id}")
}

/// Returns a copy of the node without the nodes of its group, which are compiled on their own.
fn without_members(node: &Node) -> Node {
    let kind = if let NodeKind::LoopGroup(group) = &node.kind {
        NodeKind::LoopGroup(Box::new(LoopGroupNode { control: group.control.clone(), nodes: Vec::new() }))
    } else {
        node.kind.clone()
    };
    Node {
        id: node.id.clone(),
        description: node.description.clone(),
        depends_on: node.depends_on.clone(),
        when: node.when.clone(),
        trigger_rule: node.trigger_rule,
        retry: node.retry,
        always_run: node.always_run,
        output_type: node.output_type.clone(),
        output_format: node.output_format.clone(),
        inputs: node.inputs.clone(),
        kind,
    }
}
