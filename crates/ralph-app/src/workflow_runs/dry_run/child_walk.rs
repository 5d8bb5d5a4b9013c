//! Walks the workflows that nodes start: each with the stubs of its node, as a separate run.
use std::collections::BTreeMap;

use ralph_core::outcome::Outcome;
use ralph_core::workflow::ChildWorkflowNode;
use ralph_core::workflow::graph::{
    ActivityId, ActivityResult, CompiledNode, FailureKind, NodeFailure, NodeSuccess, SharedOutput,
};
use ralph_core::workflow::output_schema::read_typed_output;
use serde_json::Value;

use super::output_uses::OutputUse;
use super::source::WalkedWorkflow;
use super::stubs::{NodeStub, StubSet};
use super::walk::{DryRunReport, GraphWalk, WalkFailure, WalkedRun, failure_of, walk_workflow};
use crate::workflow_runs::child_inputs::{ChildInputs, name_in_parent, resolve_child_inputs};
use crate::workflow_runs::children::{MAX_DEPTH, check_call, depth_error, recursion_error};

/// A node that starts another workflow, or an item of its fan-out.
pub(super) struct ChildNode<'w> {
    pub activity: ActivityId,
    pub node: &'w CompiledNode,
    pub child: &'w ChildWorkflowNode,
    pub item: Option<&'w Value>,
}

impl GraphWalk<'_> {
    /// Walks the workflow of a node, unless the stub says how it ends.
    pub(super) fn run_child(
        &mut self,
        call: &ChildNode<'_>,
        stub: Option<&NodeStub>,
    ) -> Result<ActivityResult, WalkFailure> {
        if let Some(failure) = failure_of(stub) {
            return Ok(failure);
        }
        let target = self.place.source.children.get(&call.child.workflow);
        let Some(target) = target.filter(|_| stub.is_none_or(|stub| stub.output.is_none())) else {
            return self.child_output(call, stub);
        };
        self.check_start(call, target)?;
        let report = self.walk_child(call, target, stub)?;
        let end = report.end.clone();
        self.add_report(call, report);
        let Some(output) = end.output else {
            let outcome = Outcome::parse(end.status).unwrap_or(Outcome::Failed);
            let reason = format!("workflow {} ended as {}: {}", call.child.workflow, outcome.as_str(), end.reason);
            let failure = NodeFailure { reason, kind: FailureKind::Permanent, child_outcome: Some(outcome) };
            return Ok(ActivityResult::Failed(failure));
        };
        let schema = call.node.definition.output_format.as_ref().filter(|_| call.item.is_none());
        let Some(schema) = schema else { return Ok(completed_with(output.into())) };
        match read_typed_output(&output, schema) {
            Ok(typed) => Ok(completed_with(typed.into_output().into())),
            Err(error) if stub.is_some() => {
                let workflow = &call.child.workflow;
                Err(WalkFailure::Node(format!("the output of {workflow} does not fit `output_format`: {error}")))
            }
            // Its nodes have default outputs too.
            Err(_) => self.child_output(call, None),
        }
    }

    /// Returns the output that the stub gives, or the default.
    fn child_output(&self, call: &ChildNode<'_>, stub: Option<&NodeStub>) -> Result<ActivityResult, WalkFailure> {
        let output = match (call.item, stub) {
            (Some(_), stub) => SharedOutput::from(stub.and_then(NodeStub::output_text).unwrap_or_default()),
            (None, stub) => self.output(call.activity.node, call.node, stub)?,
        };
        Ok(completed_with(output))
    }

    /// Refuses what a real run refuses before it starts.
    fn check_start(&self, call: &ChildNode<'_>, target: &WalkedWorkflow) -> Result<(), String> {
        let (path, name) = (&self.place.path, call.child.workflow.as_str());
        if path.contains(&name) {
            return Err(recursion_error(path, name).message);
        }
        if path.len() >= MAX_DEPTH {
            return Err(depth_error(path, name).message);
        }
        check_call(call.child, &target.workflow).map_err(|error| error.message)
    }

    fn walk_child(
        &self,
        call: &ChildNode<'_>,
        target: &WalkedWorkflow,
        stub: Option<&NodeStub>,
    ) -> Result<DryRunReport, WalkFailure> {
        let inputs = self.node_inputs();
        let values = inputs.values(call.activity.node, call.node)?;
        let ChildInputs { message, inputs } = resolve_child_inputs(call.child, &target.workflow, call.item, &values)?;
        let no_stubs = StubSet::default();
        let result_use = match call.item {
            Some(_) => OutputUse::default(),
            None => self.uses.of(call.activity.node),
        };
        let report = walk_workflow(WalkedRun {
            workflow: target,
            message: &message,
            inputs: &inputs,
            stubs: stub.and_then(|stub| stub.nodes.as_ref()).unwrap_or(&no_stubs),
            result_use: &result_use,
            place: self.place.clone(),
        })?;
        Ok(report)
    }

    /// Adds the events and the nodes of a child to those of this walk.
    fn add_report(&mut self, call: &ChildNode<'_>, report: DryRunReport) {
        let prefix = format!("{} > ", name_in_parent(self.graph, &self.state, call.activity));
        self.facts.extend(report.facts.into_iter().map(|fact| fact.with_node_prefix(&prefix)));
        let item = call.activity.item.map(|item| format!("[{item}]")).unwrap_or_default();
        let path = format!("{}{item} > ", call.node.key);
        let nodes: BTreeMap<_, _> =
            report.nodes.into_iter().map(|(node, result)| (format!("{path}{node}"), result)).collect();
        self.child_nodes.extend(nodes);
    }
}

fn completed_with(output: SharedOutput) -> ActivityResult {
    ActivityResult::Completed(NodeSuccess { output, proof: None })
}
