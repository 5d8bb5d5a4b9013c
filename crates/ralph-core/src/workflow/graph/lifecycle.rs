//! The start, the stop and the end of a run.
use alloc::vec::Vec;

use super::activity::ActivityId;
use super::compiled::{NodeIndex, Scope};
use super::effect::GraphEffect;
use super::fact::GraphFact;
use super::node_state::{GroupStage, NodeOutcome, NodeState};
use super::outcome::{FailedNode, GraphEnd, GraphFailure, GraphPhase};
use super::output::SharedOutput;
use super::transition::Transition;
use crate::receipt::ProofLevel;

impl Transition<'_> {
    /// Starts a new run, or continues a restored one. It visits every node, once in a process.
    pub fn start_or_resume(&mut self) {
        if self.state.phase != GraphPhase::NotStarted {
            return;
        }
        self.state.phase = GraphPhase::Running;
        if let Some(end) = self.state.stopping.take() {
            self.state.phase = GraphPhase::Stopping(end);
            return;
        }
        // Chosen before anything starts: the nodes of a group that starts now are started with it.
        let is_in_running_scope = |node: &NodeIndex| self.is_in_running_scope(*node);
        let nodes: Vec<NodeIndex> = self.graph.nodes().map(|(node, _)| node).filter(is_in_running_scope).collect();
        for node in nodes {
            if self.is_live() {
                self.resume_node(node);
            }
        }
    }

    /// Returns whether the node belongs to the workflow itself, or to a group whose iteration runs.
    fn is_in_running_scope(&self, node: NodeIndex) -> bool {
        match self.compiled(node).and_then(|compiled| compiled.group) {
            None => true,
            Some(group) => {
                self.state.group_progress(group).is_some_and(|progress| progress.stage == GroupStage::Working)
            }
        }
    }

    fn resume_node(&mut self, node: NodeIndex) {
        let Some(record) = self.record(node) else { return };
        let has_settled_dependencies = record.dependencies.unsettled == 0;
        match record.state.clone() {
            NodeState::Pending if has_settled_dependencies => self.decide_start(node),
            NodeState::Pending | NodeState::Settled { .. } => {}
            NodeState::Queued { work } => self.queue(node, work),
            // A restored run has interrupted nodes instead.
            NodeState::Running { work } | NodeState::Parked { work } | NodeState::Interrupted { work } => {
                self.queue(node, work.recover());
            }
            NodeState::AwaitingRetry { delay_ms, .. } => self.start_retry_timer(node, delay_ms),
            NodeState::Asking { question } => self.ask_again(node, question),
            NodeState::FanningOut { .. } => self.continue_fan_out(node),
            NodeState::Repeating(progress) => self.resume_group(node, progress),
        }
    }

    /// Stops everything that runs. The first reason counts, except that an interruption gives way to a final end.
    pub fn stop(&mut self, end: GraphEnd) {
        let is_interrupting = matches!(self.state.phase, GraphPhase::Stopping(GraphEnd::Interrupted { .. }));
        let is_final = !matches!(end, GraphEnd::Interrupted { .. });
        let is_new = self.state.phase == GraphPhase::NotStarted;
        let can_stop = is_new || self.is_live() || (is_interrupting && is_final);
        if !can_stop {
            return;
        }
        self.push_fact(GraphFact::Stopping(end.clone()));
        self.state.phase = GraphPhase::Stopping(end);
        if !is_interrupting {
            let active: Vec<ActivityId> = self.state.active.keys().copied().collect();
            for activity in active {
                self.push_effect(GraphEffect::Stop { activity });
            }
        }
    }

    /// Ends the run when everything is settled or stopped, and notices when only a person can continue it.
    pub fn update_phase(&mut self) {
        match self.state.phase.clone() {
            GraphPhase::NotStarted | GraphPhase::Ended(_) => {}
            GraphPhase::Stopping(end) => {
                if self.state.active.is_empty() {
                    self.end(end);
                }
            }
            GraphPhase::Running | GraphPhase::Waiting if self.state.unsettled == 0 => {
                let end = self.decide_end();
                self.end(end);
            }
            phase @ (GraphPhase::Running | GraphPhase::Waiting) => {
                let is_waiting = self.state.running_activities() == 0 && self.state.retries == 0;
                self.state.phase = if is_waiting { GraphPhase::Waiting } else { GraphPhase::Running };
                if is_waiting && phase == GraphPhase::Running {
                    self.push_effect(GraphEffect::Park);
                }
            }
        }
    }

    fn end(&mut self, end: GraphEnd) {
        self.push_fact(GraphFact::Ended(end.clone()));
        self.push_effect(GraphEffect::Finish(end.clone()));
        self.state.phase = GraphPhase::Ended(end);
    }

    /// Decides how a run ends whose nodes are all settled. It visits every node, once in a run.
    fn decide_end(&self) -> GraphEnd {
        let failed = self.unabsorbed_failures(self.graph.top_level());
        if !failed.is_empty() {
            return GraphEnd::Failed(GraphFailure::Nodes(failed));
        }
        let output = match self.graph.returns() {
            None => self.primary_output(self.graph.top_level()),
            Some(node) => match self.completed_output(node) {
                Some(output) => output,
                None => {
                    let node = self.compiled(node).map(|node| node.id().clone());
                    return GraphEnd::Failed(
                        node.map_or(GraphFailure::Nodes(failed), |node| GraphFailure::NoResult { node }),
                    );
                }
            },
        };
        if let Some(field) = self.graph.outcome_field()
            && output.as_node_output().read(Some(field)).as_deref() != Ok("true")
        {
            return GraphEnd::Failed(GraphFailure::NegativeVerdict { field: field.into() });
        }
        GraphEnd::Completed { output, proof: self.lowest_proof() }
    }

    fn lowest_proof(&self) -> Option<ProofLevel> {
        let proof = |(node, _)| match self.state.node(node)?.outcome()? {
            NodeOutcome::Completed { output: _, proof } => proof.filter(|_| self.is_in_completed_groups(node)),
            NodeOutcome::Failed(_) | NodeOutcome::Skipped(_) => None,
        };
        self.graph.nodes().filter_map(proof).min()
    }

    /// Returns whether all groups around the node have completed. The nodes of others are those of an earlier iteration.
    fn is_in_completed_groups(&self, node: NodeIndex) -> bool {
        let surrounding = |node: &NodeIndex| self.compiled(*node).and_then(|compiled| compiled.group);
        let mut groups = core::iter::successors(surrounding(&node), surrounding);
        groups.all(|group| self.completed_output(group).is_some())
    }

    /// Returns the nodes that failed and whose failure no dependant absorbed, in the order of the file.
    pub fn unabsorbed_failures(&self, scope: &Scope) -> Vec<FailedNode> {
        let failure = |node: &NodeIndex| {
            let record = self.record(*node).filter(|record| !record.is_absorbed)?;
            match record.state.outcome()? {
                NodeOutcome::Failed(failure) => {
                    let node = self.compiled(*node)?.id().clone();
                    Some(FailedNode { node, reason: failure.reason.clone() })
                }
                NodeOutcome::Completed { .. } | NodeOutcome::Skipped(_) => None,
            }
        };
        scope.nodes.iter().filter_map(failure).collect()
    }

    /// Returns the output of the first sink that has completed, in the order of the file; empty if none has.
    pub fn primary_output(&self, scope: &Scope) -> SharedOutput {
        scope.sinks.iter().find_map(|sink| self.completed_output(*sink)).unwrap_or_default()
    }

    fn completed_output(&self, node: NodeIndex) -> Option<SharedOutput> {
        self.state.node(node)?.outcome()?.completed_output().cloned()
    }
}
