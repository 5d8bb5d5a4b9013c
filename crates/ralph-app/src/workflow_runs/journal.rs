//! Writes the steps of a workflow run to the store, and its events to the log and the observer.
use std::sync::Arc;

use ralph_core::workflow::graph::{GraphFact, NodeOutcome, NodeRow, NodeState, StoredGraph};
use ralph_engine::run_driver::Clock;
use ralph_store::{
    Store, StoreError, WorkflowNodeKey, WorkflowNodeRow, WorkflowNodeUpdate, WorkflowRunUpdate, WorkflowStep,
};
use serde::Serialize;

use super::fact::{WorkflowFact, node_status};
use super::log::WorkflowLog;
use super::observer::{EventSource, WorkflowObserver};

/// The journal of one workflow run, driven by this process.
pub struct WorkflowJournal {
    pub store: Arc<Store>,
    pub run: String,
    pub fence: i64,
    pub next_seq: i64,
    pub log: Arc<WorkflowLog>,
    pub observer: Arc<dyn WorkflowObserver>,
    pub status: RunStatus,
}

/// The stored status of a run, with what changes in every step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStatus {
    pub status: &'static str,
    pub reason: Option<String>,
    pub exit_code: Option<u8>,
    /// How many nodes are settled.
    pub settled: i64,
    pub metadata: String,
    pub has_ended: bool,
}

impl RunStatus {
    #[must_use]
    pub fn running() -> Self {
        Self {
            status: "running",
            reason: None,
            exit_code: None,
            settled: 0,
            metadata: "{}".to_owned(),
            has_ended: false,
        }
    }

    pub fn update(&self) -> WorkflowRunUpdate<'_> {
        WorkflowRunUpdate {
            status: self.status,
            reason: self.reason.as_deref(),
            exit_code: self.exit_code,
            step_index: self.settled,
            metadata: &self.metadata,
            has_ended: self.has_ended,
        }
    }
}

/// The records of one step.
#[derive(Debug, Default)]
pub struct StepContents {
    pub graph_facts: Vec<GraphFact>,
    pub events: Vec<WorkflowFact>,
    /// The questions whose answers this step takes.
    pub taken_answers: Vec<String>,
}

impl StepContents {
    pub fn is_empty(&self) -> bool {
        self.graph_facts.is_empty() && self.events.is_empty() && self.taken_answers.is_empty()
    }
}

/// A row of a node or of an item, as JSON.
struct EncodedRow {
    node: String,
    generation: u32,
    item: Option<u32>,
    status: &'static str,
    state: String,
    has_started: bool,
    has_ended: bool,
}

impl WorkflowJournal {
    /// Stores a step in one transaction, and reports its events.
    pub async fn record(&mut self, step: StepContents) -> Result<(), StoreError> {
        let StepContents { graph_facts, events, taken_answers } = step;
        let from_graph = graph_facts.iter().filter_map(WorkflowFact::from_graph_fact);
        let facts: Vec<WorkflowFact> = from_graph.chain(events).collect();
        self.status.settled += graph_facts.iter().filter(|fact| is_settled(fact)).count() as i64;
        let rows: Vec<EncodedRow> = graph_facts.iter().filter_map(encode_row).collect();
        let bodies: Vec<String> = facts.iter().map(|fact| serde_json::to_string(fact).unwrap_or_default()).collect();
        let nodes: Vec<WorkflowNodeUpdate<'_>> = rows.iter().map(EncodedRow::update).collect();
        let answers: Vec<&str> = taken_answers.iter().map(String::as_str).collect();
        let step = WorkflowStep {
            run: &self.run,
            fence: self.fence,
            first_seq: self.next_seq,
            at: Clock::wall_now(),
            events: &bodies,
            nodes: &nodes,
            update: self.status.update(),
            taken_answers: &answers,
        };
        self.store.record_workflow_step(&step).await?;
        self.next_seq += bodies.len() as i64;
        self.report(&facts);
        Ok(())
    }

    /// Stores rows of another run, without events.
    pub async fn copy_rows(&mut self, rows: &StoredGraph) -> Result<(), StoreError> {
        let facts = row_facts(rows);
        self.status.settled += facts.iter().filter(|fact| is_settled(fact)).count() as i64;
        let encoded: Vec<EncodedRow> = facts.iter().filter_map(encode_row).collect();
        let nodes: Vec<WorkflowNodeUpdate<'_>> = encoded.iter().map(EncodedRow::update).collect();
        let step = WorkflowStep {
            run: &self.run,
            fence: self.fence,
            first_seq: self.next_seq,
            at: Clock::wall_now(),
            events: &[],
            nodes: &nodes,
            update: self.status.update(),
            taken_answers: &[],
        };
        self.store.record_workflow_step(&step).await
    }

    /// Passes stored events to the log and the observer.
    pub fn report(&self, facts: &[WorkflowFact]) {
        for fact in facts {
            self.log.write_fact(fact);
            self.observer.on_fact(EventSource { run: &self.run, path: "" }, fact);
        }
    }
}

impl EncodedRow {
    fn update(&self) -> WorkflowNodeUpdate<'_> {
        WorkflowNodeUpdate {
            key: WorkflowNodeKey { node: &self.node, generation: self.generation, item: self.item },
            status: self.status,
            state: &self.state,
            has_started: self.has_started,
            has_ended: self.has_ended,
        }
    }
}

fn is_settled(fact: &GraphFact) -> bool {
    matches!(fact, GraphFact::Node(NodeRow { state: NodeState::Settled { .. }, .. }))
}

fn encode_row(fact: &GraphFact) -> Option<EncodedRow> {
    match fact {
        GraphFact::Node(row) => {
            let was_skipped = matches!(&row.state, NodeState::Settled { outcome: NodeOutcome::Skipped(_) });
            Some(EncodedRow {
                node: row.key.clone(),
                generation: row.generation,
                item: None,
                status: node_status(&row.state),
                state: to_json(row),
                has_started: !was_skipped && !matches!(row.state, NodeState::Pending | NodeState::Queued { .. }),
                has_ended: is_settled(fact),
            })
        }
        GraphFact::Item(row) => Some(EncodedRow {
            node: row.key.clone(),
            generation: row.generation,
            item: Some(row.item),
            status: "item",
            state: to_json(row),
            has_started: true,
            has_ended: false,
        }),
        GraphFact::Stopping(_) | GraphFact::Ended(_) => None,
    }
}

fn to_json(row: &impl Serialize) -> String {
    serde_json::to_string(row).unwrap_or_default()
}

/// Returns the facts with which the rows of another run are stored.
pub fn row_facts(rows: &StoredGraph) -> Vec<GraphFact> {
    let nodes = rows.nodes.iter().cloned().map(GraphFact::Node);
    nodes.chain(rows.items.iter().cloned().map(GraphFact::Item)).collect()
}

/// Reads the rows of a stored run.
pub fn decode_rows(rows: &[WorkflowNodeRow]) -> Result<StoredGraph, serde_json::Error> {
    let mut stored = StoredGraph::default();
    for row in rows {
        match row.item {
            None => stored.nodes.push(serde_json::from_str(&row.state)?),
            Some(_) => stored.items.push(serde_json::from_str(&row.state)?),
        }
    }
    Ok(stored)
}
