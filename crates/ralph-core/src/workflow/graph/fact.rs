//! The stored form of a run: one row for each node and iteration, and one for each item of a fan-out.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::node_state::{ItemState, NodeState};
use super::outcome::GraphEnd;

/// A decision that must be stored.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphFact {
    /// Replaces the row with the same key and generation.
    Node(NodeRow),
    /// Replaces the row with the same key, generation and item.
    Item(ItemRow),
    /// The run ends for this reason, once running activities are stopped.
    Stopping(GraphEnd),
    Ended(GraphEnd),
}

/// The stored state of a node in one iteration of its loop group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeRow {
    /// The ids of the groups around the node and its own, joined by `/`. Unique in the workflow.
    pub key: String,
    /// Counts the iterations of the surrounding loop group in the whole run, from 1. 0 outside of groups.
    pub generation: u32,
    /// The activities and questions of the node so far, see [`super::ActivityId`].
    pub starts: u32,
    pub state: NodeState,
}

/// The stored state of an item of a fan-out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemRow {
    pub key: String,
    pub generation: u32,
    pub item: u32,
    pub starts: u32,
    pub state: ItemState,
}

/// All rows of a run, in any order. Only the newest two generations of a loop group are read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StoredGraph {
    pub nodes: Vec<NodeRow>,
    pub items: Vec<ItemRow>,
    /// The end of [`GraphFact::Stopping`], if the process ended before the run did. Without it the run continues; clear
    /// it to continue a run that had reached its budget.
    pub stopping: Option<GraphEnd>,
}
