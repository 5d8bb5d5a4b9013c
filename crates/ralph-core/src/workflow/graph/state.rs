//! The state of a run of a graph: what the store keeps of each node, and counters that are derived from it.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use super::activity::ActivityId;
use super::compiled::{Graph, NodeIndex};
use super::node_state::{GroupProgress, ItemState, NodeOutcome, NodeState};
use super::outcome::{GraphEnd, GraphPhase};
use super::output::SharedOutput;
use crate::workflow::{NodeId, NodeOutput};

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphSettings {
    /// How many agents of this run may work at the same time; at least 1. Agents of child runs count in their own graph:
    /// the executor shares slots between graphs by delaying the start.
    pub slots: u32,
    /// How many `bash`, `script` and `checks` nodes may run at the same time; at least 1.
    pub max_commands: u32,
    /// `$INPUTS.name`, with the defaults.
    pub inputs: BTreeMap<String, String>,
}

impl GraphSettings {
    /// The limit for commands of runs without their own limit.
    pub const DEFAULT_MAX_COMMANDS: u32 = 64;
}

/// The state of a run.
#[derive(Debug, Clone)]
pub struct GraphState {
    pub(super) inputs: BTreeMap<String, String>,
    pub(super) phase: GraphPhase,
    pub(super) nodes: Vec<NodeRecord>,
    /// Nodes outside of groups that are not settled.
    pub(super) unsettled: usize,
    /// For groups whose iteration runs: its nodes that are not settled.
    pub(super) unsettled_in_group: BTreeMap<NodeIndex, usize>,
    pub(super) fan_outs: BTreeMap<NodeIndex, FanOutProgress>,
    pub(super) agents: SlotQueue,
    pub(super) commands: SlotQueue,
    /// The activities that the executor has not reported as ended.
    pub(super) active: BTreeMap<ActivityId, ActiveWork>,
    pub(super) parked: usize,
    pub(super) retries: usize,
    /// The end that an earlier process had decided.
    pub(super) stopping: Option<GraphEnd>,
    /// Nodes and dependencies that were visited, for the test of the costs.
    #[cfg(test)]
    #[expect(clippy::disallowed_types, reason = "counts reads in tests")]
    pub(super) visits: core::cell::Cell<u64>,
}

#[derive(Debug, Clone)]
pub(super) struct NodeRecord {
    pub state: NodeState,
    /// See [`super::NodeRow`].
    pub starts: u32,
    /// See [`GroupProgress`]. 0 for other nodes.
    pub generation: u32,
    pub dependencies: DependencyCounts,
    /// Whether the node failed and a dependant ran in spite of it.
    pub is_absorbed: bool,
    /// The outcome before the current iteration of its group began. Not read in the first iteration.
    pub previous: Option<NodeOutcome>,
}

/// The settled dependencies of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DependencyCounts {
    pub unsettled: usize,
    pub completed: usize,
    pub failed: usize,
}

impl DependencyCounts {
    pub fn add_outcome(&mut self, outcome: &NodeOutcome) {
        self.unsettled = self.unsettled.saturating_sub(1);
        match outcome {
            NodeOutcome::Completed { .. } => self.completed += 1,
            NodeOutcome::Failed(_) => self.failed += 1,
            NodeOutcome::Skipped(_) => {}
        }
    }
}

/// Nodes that share a number of slots. They start in the order of the file.
#[derive(Debug, Clone, Default)]
pub(super) struct SlotQueue {
    pub limit: usize,
    pub running: usize,
    pub queued: BTreeSet<NodeIndex>,
}

impl SlotQueue {
    fn with_limit(limit: u32) -> Self {
        Self { limit: limit.max(1) as usize, ..Self::default() }
    }

    pub fn take_next(&mut self) -> Option<NodeIndex> {
        if self.running < self.limit { self.queued.pop_first() } else { None }
    }
}

/// Which limit an activity is under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotClass {
    Agent,
    Command,
    /// Child runs, and questions about loop groups. Fan-outs have their own limit.
    Unlimited,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ActiveWork {
    pub class: SlotClass,
    pub is_parked: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct FanOutProgress {
    pub items: Vec<ItemRecord>,
    /// The items that have not started in this process, in their order.
    pub waiting: VecDeque<u32>,
    pub active: u32,
    pub failed: u32,
}

#[derive(Debug, Clone)]
pub(super) struct ItemRecord {
    pub state: ItemState,
    pub starts: u32,
}

static FAILED_OUTPUT: NodeOutput = NodeOutput::Failed;
static SKIPPED_OUTPUT: NodeOutput = NodeOutput::Skipped;
static NO_OUTPUT: NodeOutput = NodeOutput::NotRun;

impl GraphState {
    /// Returns the state of a new run.
    #[must_use]
    pub fn new(graph: &Graph, settings: GraphSettings) -> Self {
        let new_record = |dependencies: usize| NodeRecord {
            state: NodeState::Pending,
            starts: 0,
            generation: 0,
            dependencies: DependencyCounts { unsettled: dependencies, ..DependencyCounts::default() },
            is_absorbed: false,
            previous: None,
        };
        Self {
            inputs: settings.inputs,
            phase: GraphPhase::NotStarted,
            nodes: graph.nodes().map(|(_, node)| new_record(node.dependencies.len())).collect(),
            unsettled: graph.top_level().nodes.len(),
            unsettled_in_group: BTreeMap::new(),
            fan_outs: BTreeMap::new(),
            agents: SlotQueue::with_limit(settings.slots),
            commands: SlotQueue::with_limit(settings.max_commands),
            active: BTreeMap::new(),
            parked: 0,
            retries: 0,
            stopping: None,
            #[cfg(test)]
            visits: Default::default(),
        }
    }

    #[must_use]
    pub fn phase(&self) -> &GraphPhase {
        &self.phase
    }

    /// Returns the state of a node. Nodes of a loop group have that of the current iteration.
    #[must_use]
    pub fn node(&self, node: NodeIndex) -> Option<&NodeState> {
        self.record(node).map(|record| &record.state)
    }

    /// Returns the output of a node, for the texts of other nodes.
    #[must_use]
    pub fn output(&self, node: NodeIndex) -> &NodeOutput {
        self.record(node).map_or(&NO_OUTPUT, |record| record.state.outcome().map_or(&NO_OUTPUT, NodeOutcome::output))
    }

    /// Returns the output of the node that an id means in the texts of `from`, or `None` if the node does not exist.
    #[must_use]
    pub fn output_from(&self, graph: &Graph, from: NodeIndex, id: &NodeId) -> Option<&NodeOutput> {
        graph.find_from(from, id).map(|node| self.output(node))
    }

    /// Returns `$LOOP_PREV` for the texts of `node`: the outputs of the previous iteration of its loop group. `None`
    /// outside of a group and in the first iteration.
    #[must_use]
    pub fn previous_outputs(&self, graph: &Graph, node: NodeIndex) -> Option<BTreeMap<NodeId, NodeOutput>> {
        let group = graph.node(node)?.group?;
        if self.group_progress(group)?.iteration < 2 {
            return None;
        }
        let previous = |member: &NodeIndex| {
            let outcome = self.record(*member)?.previous.as_ref();
            let output = outcome.map_or(NodeOutput::NotRun, |outcome| outcome.output().clone());
            Some((graph.node(*member)?.id().clone(), output))
        };
        Some(graph.scope(Some(group)).nodes.iter().filter_map(previous).collect())
    }

    /// Returns the progress of the loop group, while it runs.
    #[must_use]
    pub fn group_progress(&self, group: NodeIndex) -> Option<&GroupProgress> {
        match self.node(group)? {
            NodeState::Repeating(progress) => Some(progress),
            NodeState::Pending
            | NodeState::Queued { .. }
            | NodeState::Running { .. }
            | NodeState::Parked { .. }
            | NodeState::Interrupted { .. }
            | NodeState::AwaitingRetry { .. }
            | NodeState::Asking { .. }
            | NodeState::FanningOut { .. }
            | NodeState::Settled { .. } => None,
        }
    }

    /// Returns how many activities the executor performs, without parked child runs.
    #[must_use]
    pub fn running_activities(&self) -> usize {
        self.active.len().saturating_sub(self.parked)
    }

    pub(super) fn record(&self, node: NodeIndex) -> Option<&NodeRecord> {
        #[cfg(test)]
        self.visits.set(self.visits.get() + 1);
        self.nodes.get(node.position())
    }

    pub(super) fn record_mut(&mut self, node: NodeIndex) -> Option<&mut NodeRecord> {
        #[cfg(test)]
        self.visits.set(self.visits.get() + 1);
        self.nodes.get_mut(node.position())
    }

    pub(super) fn slot_queue(&mut self, class: SlotClass) -> Option<&mut SlotQueue> {
        match class {
            SlotClass::Agent => Some(&mut self.agents),
            SlotClass::Command => Some(&mut self.commands),
            SlotClass::Unlimited => None,
        }
    }
}

impl NodeState {
    /// Returns how the node ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&NodeOutcome> {
        match self {
            Self::Settled { outcome } => Some(outcome),
            Self::Pending
            | Self::Queued { .. }
            | Self::Running { .. }
            | Self::Parked { .. }
            | Self::Interrupted { .. }
            | Self::AwaitingRetry { .. }
            | Self::Asking { .. }
            | Self::FanningOut { .. }
            | Self::Repeating(_) => None,
        }
    }
}

impl NodeOutcome {
    /// Returns the output for the texts of other nodes.
    #[must_use]
    pub fn output(&self) -> &NodeOutput {
        match self {
            Self::Completed { output, proof: _ } => output.as_node_output(),
            Self::Failed(_) => &FAILED_OUTPUT,
            Self::Skipped(_) => &SKIPPED_OUTPUT,
        }
    }

    /// Returns the output if the node has completed.
    #[must_use]
    pub fn completed_output(&self) -> Option<&SharedOutput> {
        match self {
            Self::Completed { output, proof: _ } => Some(output),
            Self::Failed(_) | Self::Skipped(_) => None,
        }
    }
}
