//! The rows of workflow runs, their nodes and their events.
use crate::driver::{DatabaseRow, DriverError};
use crate::journal::checksum::ChecksumPart::Text;
use crate::journal::checksum::{checksum, verify_checksum};

/// The execution of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowRunRow {
    pub id: String,
    /// The name of the workflow.
    pub workflow: String,
    /// `running`, `waiting`, or how it ended.
    pub status: String,
    pub reason: Option<String>,
    pub exit_code: Option<i64>,
    /// The message that started it.
    pub message: String,
    /// How many steps have ended.
    pub step_index: i64,
    /// JSON.
    pub metadata: String,
    pub started_at: i64,
    pub ended_at: Option<i64>,
    /// The number of its events.
    pub event_count: i64,
    pub fence: i64,
    /// The process that drives it, or the last one that did, as JSON.
    pub owner_json: Option<String>,
    /// The workflow run that started it, with its node.
    pub parent: Option<String>,
    pub parent_node: Option<String>,
    /// The workflow run whose nodes it reuses.
    pub rerun_of: Option<String>,
}

impl WorkflowRunRow {
    pub(crate) fn from_row(row: &DatabaseRow) -> Result<Self, DriverError> {
        Ok(Self {
            id: row.get("id")?,
            workflow: row.get("workflow")?,
            status: row.get("status")?,
            reason: row.get("reason")?,
            exit_code: row.get("exit_code")?,
            message: row.get("message")?,
            step_index: row.get("step_index")?,
            metadata: row.get("metadata")?,
            started_at: row.get("started_at")?,
            ended_at: row.get("ended_at")?,
            event_count: row.get("events")?,
            fence: row.get("fence")?,
            owner_json: row.get("owner")?,
            parent: row.get("parent")?,
            parent_node: row.get("parent_node")?,
            rerun_of: row.get("rerun_of")?,
        })
    }
}

/// Names a node of a workflow run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkflowNodeKey<'a> {
    /// The path of the node in the graph.
    pub node: &'a str,
    /// The iteration of its loop group, counted in the whole run; 0 outside of groups.
    pub generation: u32,
    /// The position of an item of a fan-out; `None` for the node itself.
    pub item: Option<u32>,
}

impl WorkflowNodeKey<'_> {
    /// The position as it is stored. A key must not be null.
    pub(crate) fn stored_item(&self) -> i64 {
        self.item.map_or(-1, i64::from)
    }
}

/// A node of a workflow run, or an item of its fan-out, as it was last stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowNodeRow {
    pub node: String,
    pub generation: i64,
    pub item: Option<i64>,
    pub status: String,
    /// The state in the graph machine with the whole output, as JSON.
    pub state: String,
    pub started_at: Option<i64>,
    pub ended_at: Option<i64>,
}

impl WorkflowNodeRow {
    pub(crate) fn from_row(run: &str, row: &DatabaseRow) -> Result<Self, DriverError> {
        let item: i64 = row.get("item")?;
        let node = Self {
            node: row.get("node")?,
            generation: row.get("generation")?,
            item: (item >= 0).then_some(item),
            status: row.get("status")?,
            state: row.get("state")?,
            started_at: row.get("started_at")?,
            ended_at: row.get("ended_at")?,
        };
        let found = node_checksum(run, &node.node, &node.state);
        verify_checksum(row.get("sum")?, found, "a node of a workflow run").map(|()| node)
    }
}

/// An event of a workflow run as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowEventRow {
    pub seq: i64,
    pub at: i64,
    /// JSON.
    pub body: String,
}

pub(crate) fn spec_checksum(run: &str, spec: &str) -> i64 {
    checksum(&[Text(run), Text(spec)])
}

pub(crate) fn node_checksum(run: &str, node: &str, state: &str) -> i64 {
    checksum(&[Text(run), Text(node), Text(state)])
}
