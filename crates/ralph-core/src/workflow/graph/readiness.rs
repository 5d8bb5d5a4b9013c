//! Whether a node starts, is skipped or fails when its dependencies are settled.
use alloc::format;
use alloc::string::ToString;

use super::activity::{Activity, ActivityAction, FailureKind, NodeFailure};
use super::compiled::{CompiledNode, NodeIndex};
use super::node_state::{NodeOutcome, NodeState, SkipReason};
use super::outcome::{GraphCancelCause, GraphEnd};
use super::output::SharedOutput;
use super::state::DependencyCounts;
use super::transition::Transition;
use crate::workflow::condition::{Condition, ConditionError};
use crate::workflow::{NodeId, NodeKind, TextValues, TriggerRule, ValueReference, VariableValues};

impl TriggerRule {
    fn holds(self, dependencies: DependencyCounts, total: usize) -> bool {
        let DependencyCounts { unsettled: _, completed, failed } = dependencies;
        match self {
            Self::AllSuccess => completed == total,
            Self::OneSuccess => completed > 0,
            Self::NoneFailedMinOneSuccess => failed == 0 && completed > 0,
            Self::AllDone => true,
        }
    }
}

impl Transition<'_> {
    /// Starts, skips or fails a node whose dependencies are settled: first its trigger rule decides, then `when`.
    pub fn decide_start(&mut self, node: NodeIndex) {
        let (Some(compiled), Some(record)) = (self.compiled(node), self.record(node)) else { return };
        let definition = &compiled.definition;
        let total = compiled.dependencies.len();
        if total > 0 && !definition.trigger_rule.holds(record.dependencies, total) {
            if let Some(because) = self.first_incomplete_dependency(compiled) {
                let reason = SkipReason::TriggerRule { rule: definition.trigger_rule, because };
                self.settle(node, NodeOutcome::Skipped(reason));
            }
            return;
        }
        match definition.when.as_ref().map_or(Ok(true), |condition| self.evaluate(node, condition)) {
            Ok(true) => self.begin(node, compiled),
            Ok(false) => {
                let condition = definition.when.as_ref().map(|condition| condition.source.clone()).unwrap_or_default();
                self.settle(node, NodeOutcome::Skipped(SkipReason::ConditionFalse { condition }));
            }
            Err(error) => {
                let reason = format!("`when` cannot be evaluated: {error}");
                let failure = NodeFailure { reason, kind: FailureKind::Condition, child_outcome: None };
                self.settle(node, NodeOutcome::Failed(failure));
            }
        }
    }

    fn first_incomplete_dependency(&self, compiled: &CompiledNode) -> Option<NodeId> {
        let is_incomplete = |dependency: &&NodeIndex| {
            self.state.node(**dependency).and_then(NodeState::outcome).is_none_or(|outcome| match outcome {
                NodeOutcome::Completed { .. } => false,
                NodeOutcome::Failed(_) | NodeOutcome::Skipped(_) => true,
            })
        };
        let found = compiled.dependencies.iter().find(is_incomplete)?;
        self.compiled(*found).map(|node| node.id().clone())
    }

    fn evaluate(&self, node: NodeIndex, condition: &Condition) -> Result<bool, ConditionError> {
        let reads_previous = condition.references().any(|reference| match reference {
            ValueReference::PreviousOutput { .. } => true,
            ValueReference::Output { .. } | ValueReference::Input { .. } => false,
        });
        let previous = if reads_previous { self.state.previous_outputs(self.graph, node) } else { None };
        let values = TextValues {
            output_of: &|id| self.state.output_from(self.graph, node, id),
            previous_outputs: previous.as_ref(),
            inputs: &self.state.inputs,
            variables: &VariableValues::new(),
        };
        condition.evaluate(|reference| values.value_of(reference))
    }

    fn begin(&mut self, node: NodeIndex, compiled: &CompiledNode) {
        self.absorb_failures(node, compiled);
        match &compiled.definition.kind {
            NodeKind::Agent(_) | NodeKind::Bash(_) | NodeKind::Script(_) | NodeKind::Loop(_) | NodeKind::Checks(_) => {
                self.queue(node, Activity::first(ActivityAction::Run));
            }
            NodeKind::Workflow(child) => {
                let action = if child.fan_out.is_some() { ActivityAction::FindItems } else { ActivityAction::Run };
                self.queue(node, Activity::first(action));
            }
            NodeKind::LoopGroup(_) => self.begin_group(node),
            NodeKind::Approval(_) => self.ask_approval(node, 0),
            NodeKind::Cancel { reason } => self.cancel_by_node(node, compiled, reason),
        }
    }

    /// A node that runs although dependencies failed absorbs their failures: the run does not fail because of them.
    fn absorb_failures(&mut self, node: NodeIndex, compiled: &CompiledNode) {
        if self.record(node).is_none_or(|record| record.dependencies.failed == 0) {
            return;
        }
        for dependency in &compiled.dependencies {
            if let Some(record) = self.state.record_mut(*dependency) {
                record.is_absorbed = record.state.has_failed();
            }
        }
    }

    fn cancel_by_node(&mut self, node: NodeIndex, compiled: &CompiledNode, reason: &str) {
        self.next_activity(node);
        self.settle(node, NodeOutcome::Completed { output: SharedOutput::default(), proof: None });
        let cause = GraphCancelCause::Node(compiled.id().clone());
        self.stop(GraphEnd::Cancelled { cause, reason: reason.to_string() });
    }
}

impl NodeState {
    pub(super) fn has_failed(&self) -> bool {
        self.outcome().is_some_and(|outcome| match outcome {
            NodeOutcome::Failed(_) => true,
            NodeOutcome::Completed { .. } | NodeOutcome::Skipped(_) => false,
        })
    }
}
