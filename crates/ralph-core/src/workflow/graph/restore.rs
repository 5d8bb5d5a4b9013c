//! The state of a run from its stored rows.
use alloc::collections::BTreeMap;

use super::activity::FailureKind;
use super::compiled::{Graph, NodeIndex};
use super::fact::{ItemRow, NodeRow, StoredGraph};
use super::node_state::{ItemState, NodeOutcome, NodeState};
use super::outcome::GraphEnd;
use super::state::{FanOutProgress, GraphSettings, GraphState, ItemRecord, NodeRecord};

impl GraphState {
    /// Returns the state of a run whose process has ended, from its stored rows. Nodes that were running run again,
    /// settled ones do not, except for those with `always_run`. The first event is [`super::GraphEvent::Started`].
    #[must_use]
    pub fn restore(graph: &Graph, settings: GraphSettings, stored: &StoredGraph) -> Self {
        let mut state = Self::new(graph, settings);
        state.stopping = match &stored.stopping {
            // The run continues.
            Some(GraphEnd::Interrupted { .. }) | None => None,
            Some(end) => Some(end.clone()),
        };
        let rows = StoredRows::index(graph, stored);
        // Groups come before their nodes, so their generation is known when the nodes are restored.
        for (node, _) in graph.nodes() {
            state.restore_node(graph, node, &rows);
        }
        for (node, _) in graph.nodes() {
            state.count_outcome(graph, node);
        }
        state
    }

    fn restore_node(&mut self, graph: &Graph, node: NodeIndex, rows: &StoredRows<'_>) {
        let Some(compiled) = graph.node(node) else { return };
        let group = compiled.group.and_then(|group| self.record(group).cloned());
        let generation = group.as_ref().map_or(0, |group| group.generation);
        let row = rows.nodes.get(&(node, generation)).copied();
        let previous = rows.nodes.get(&(node, generation.wrapping_sub(1))).and_then(|row| row.state.outcome());
        let newest = rows.newest_generation.get(&node).copied().unwrap_or_default();
        let Some(record) = self.record_mut(node) else { return };
        record.starts = rows.starts.get(&node).copied().unwrap_or_default();
        record.previous = previous.cloned();
        record.generation = newest;
        let Some(row) = row else { return };
        record.state = row.state.clone().after_process_end();
        if let NodeState::Repeating(progress) = &record.state {
            record.generation = progress.generation.max(newest);
        }
        if compiled.definition.always_run && record.state.outcome().is_some() {
            record.state = NodeState::Pending;
        }
        if let NodeState::FanningOut { items } = &record.state {
            let count = items.as_slice().len();
            self.fan_outs.insert(node, rows.restore_fan_out(node, generation, count));
        }
        if self.group_progress(node).is_some() {
            self.unsettled_in_group.insert(node, compiled.scope.nodes.len());
        }
    }

    /// Counts a settled node for its dependants and its group.
    fn count_outcome(&mut self, graph: &Graph, node: NodeIndex) {
        let Some(compiled) = graph.node(node) else { return };
        let Some(outcome) = self.node(node).and_then(NodeState::outcome).cloned() else { return };
        match compiled.group {
            None => self.unsettled -= 1,
            Some(group) => {
                if let Some(unsettled) = self.unsettled_in_group.get_mut(&group) {
                    *unsettled -= 1;
                }
            }
        }
        let mut is_absorbed = false;
        for dependant in &compiled.dependants {
            let Some(record) = self.record_mut(*dependant) else { continue };
            record.dependencies.add_outcome(&outcome);
            is_absorbed |= record.has_begun();
        }
        if let Some(record) = self.record_mut(node) {
            record.is_absorbed = is_absorbed && record.state.has_failed();
        }
    }
}

impl NodeRecord {
    /// Returns whether the node has run or runs, in this iteration. Skipped nodes and those whose `when` has no value have
    /// not.
    fn has_begun(&self) -> bool {
        match &self.state {
            NodeState::Pending => false,
            NodeState::Settled { outcome } => match outcome {
                NodeOutcome::Completed { .. } => true,
                NodeOutcome::Failed(failure) => failure.kind != FailureKind::Condition,
                NodeOutcome::Skipped(_) => false,
            },
            NodeState::Queued { .. }
            | NodeState::Running { .. }
            | NodeState::Parked { .. }
            | NodeState::Interrupted { .. }
            | NodeState::AwaitingRetry { .. }
            | NodeState::Asking { .. }
            | NodeState::FanningOut { .. }
            | NodeState::Repeating(_) => true,
        }
    }
}

impl NodeState {
    /// Returns the state after the process that ran the node has ended.
    fn after_process_end(self) -> Self {
        match self {
            Self::Running { work } | Self::Parked { work } => Self::Interrupted { work },
            Self::Pending
            | Self::Queued { .. }
            | Self::Interrupted { .. }
            | Self::AwaitingRetry { .. }
            | Self::Asking { .. }
            | Self::FanningOut { .. }
            | Self::Repeating(_)
            | Self::Settled { .. } => self,
        }
    }
}

/// The stored rows by node.
struct StoredRows<'a> {
    nodes: BTreeMap<(NodeIndex, u32), &'a NodeRow>,
    items: BTreeMap<(NodeIndex, u32, u32), &'a ItemRow>,
    /// The newest iteration of a group that has left a trace in the rows of its nodes.
    newest_generation: BTreeMap<NodeIndex, u32>,
    starts: BTreeMap<NodeIndex, u32>,
}

impl<'a> StoredRows<'a> {
    fn index(graph: &Graph, stored: &'a StoredGraph) -> Self {
        let mut rows = Self {
            nodes: BTreeMap::new(),
            items: BTreeMap::new(),
            newest_generation: BTreeMap::new(),
            starts: BTreeMap::new(),
        };
        for row in &stored.nodes {
            let Some(node) = graph.find(&row.key) else { continue };
            rows.nodes.insert((node, row.generation), row);
            let starts = rows.starts.entry(node).or_default();
            *starts = row.starts.max(*starts);
            if let Some(group) = graph.node(node).and_then(|node| node.group) {
                let newest = rows.newest_generation.entry(group).or_default();
                *newest = row.generation.max(*newest);
            }
        }
        for row in &stored.items {
            if let Some(node) = graph.find(&row.key) {
                rows.items.insert((node, row.generation, row.item), row);
            }
        }
        rows
    }

    fn restore_fan_out(&self, node: NodeIndex, generation: u32, count: usize) -> FanOutProgress {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let mut progress = FanOutProgress::default();
        for item in 0..count {
            let row = self.items.get(&(node, generation, item));
            let state = row.map_or(ItemState::Waiting, |row| row.state.clone().after_process_end());
            progress.failed += u32::from(state.has_failed());
            if !state.has_ended() {
                progress.waiting.push_back(item);
            }
            progress.items.push(ItemRecord { state, starts: row.map_or(0, |row| row.starts) });
        }
        progress
    }
}

impl ItemState {
    fn after_process_end(self) -> Self {
        match self {
            Self::Running | Self::Parked => Self::Interrupted,
            Self::Waiting | Self::Interrupted | Self::Completed { .. } | Self::Failed { .. } => self,
        }
    }
}
