//! Which nodes of an ended run are reused, and which run again.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::compiled::{Graph, NodeIndex};
use super::fact::{NodeRow, StoredGraph};
use super::node_state::NodeState;
use super::state::GraphState;

/// Which nodes outside of groups run again. A loop group is repeated as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RerunPlan {
    repeated: BTreeSet<NodeIndex>,
}

impl RerunPlan {
    /// The plan for a run from `from` on. `from`, all nodes that depend on it, directly or not, and nodes that have not
    /// finished run again. A failure that no dependant absorbed is not finished. For a node of a group, the group is
    /// repeated.
    #[must_use]
    pub fn from_node(graph: &Graph, state: &GraphState, from: NodeIndex) -> Self {
        let mut seeds = Self::open_failures(graph, state);
        seeds.push(outermost_group(graph, from));
        Self::from_seeds(graph, state, seeds)
    }

    /// The plan to resume a failed run: failed nodes and all nodes that depend on them run again.
    #[must_use]
    pub fn from_failures(graph: &Graph, state: &GraphState) -> Self {
        let seeds = Self::open_failures(graph, state);
        Self::from_seeds(graph, state, seeds)
    }

    /// Returns the nodes that run again, in the order of the file.
    pub fn repeated(&self) -> impl Iterator<Item = NodeIndex> {
        self.repeated.iter().copied()
    }

    /// Returns the nodes whose outcomes are reused, in the order of the file.
    pub fn reused(&self, graph: &Graph) -> impl Iterator<Item = NodeIndex> {
        graph.top_level().nodes.iter().copied().filter(|node| !self.repeated.contains(node))
    }

    /// Returns the rows with which a new run reuses the finished nodes.
    #[must_use]
    pub fn reused_rows(&self, graph: &Graph, stored: &StoredGraph) -> StoredGraph {
        let is_reused =
            |key: &str| graph.find(key).is_some_and(|node| !self.repeated.contains(&outermost_group(graph, node)));
        StoredGraph {
            nodes: stored.nodes.iter().filter(|row| is_reused(&row.key)).cloned().collect(),
            items: stored.items.iter().filter(|row| is_reused(&row.key)).cloned().collect(),
            stopping: None,
        }
    }

    /// Returns the rows to store in the same run before it is restored: repeated nodes are pending again. Their activities
    /// continue to count.
    #[must_use]
    pub fn reset_rows(&self, graph: &Graph, stored: &StoredGraph) -> Vec<NodeRow> {
        let is_repeated = |row: &&NodeRow| graph.find(&row.key).is_some_and(|node| self.repeated.contains(&node));
        let reset = |row: &NodeRow| NodeRow { state: NodeState::Pending, ..row.clone() };
        stored.nodes.iter().filter(is_repeated).map(reset).collect()
    }

    fn open_failures(graph: &Graph, state: &GraphState) -> Vec<NodeIndex> {
        let is_open =
            |node: &NodeIndex| state.record(*node).is_some_and(|node| node.state.has_failed() && !node.is_absorbed);
        graph.top_level().nodes.iter().copied().filter(is_open).collect()
    }

    fn from_seeds(graph: &Graph, state: &GraphState, mut open: Vec<NodeIndex>) -> Self {
        let is_unsettled = |node: &NodeIndex| state.node(*node).is_none_or(|state| state.outcome().is_none());
        let mut repeated: BTreeSet<NodeIndex> = graph.top_level().nodes.iter().copied().filter(is_unsettled).collect();
        let mut reached = BTreeSet::new();
        while let Some(node) = open.pop() {
            if let Some(compiled) = graph.node(node)
                && reached.insert(node)
            {
                open.extend(&compiled.dependants);
            }
        }
        repeated.append(&mut reached);
        Self { repeated }
    }
}

/// Returns the outermost group around a node, or the node itself if it is in no group.
fn outermost_group(graph: &Graph, node: NodeIndex) -> NodeIndex {
    let surrounding = |node: &NodeIndex| graph.node(*node).and_then(|node| node.group);
    core::iter::successors(Some(node), surrounding).last().unwrap_or(node)
}
