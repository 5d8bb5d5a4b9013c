//! Walks a graph: performs what the graph machine requests with stubs and default outputs.
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

use ralph_core::outcome::exit_code;
use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::graph::{
    APPROVE_DECISION, Activity, ActivityAction, ActivityId, ActivityResult, COMPLETE_DECISION, CompiledNode,
    FailureKind, Graph, GraphCancelCause, GraphEffect, GraphEnd, GraphEvent, GraphNotice, GraphPhase, GraphSettings,
    GraphState, IterationVerdict, LoopGate, NodeFailure, NodeIndex, NodeSuccess, PersonAnswer, PersonQuestion,
    SharedOutput, advance,
};
use ralph_core::workflow::output_schema::read_typed_output;
use ralph_core::workflow::{LoopNode, NodeKind, NodeOutput, TypedOutput, messages, value_text};
use serde_json::Value;

use super::child_walk::ChildNode;
use super::default_output::default_output;
use super::node_inputs::NodeInputs;
use super::output_uses::{OutputUse, OutputUses};
use super::source::{DryRunSource, WalkedWorkflow};
use super::stubs::{NodeStub, StubSet};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::workflow_runs::driver::WorkflowEnd;
use crate::workflow_runs::end_text::describe_end;
use crate::workflow_runs::fact::{WorkflowFact, node_status};
use crate::workflow_runs::prepare::resolve_inputs;
use crate::workflow_runs::questions::{find_cancel_node, read_answer, substitute_for_people};
use crate::workflow_runs::ready::read_items;

/// Loops are finite, but those in loops multiply.
const MAX_EVENTS: usize = 200_000;

/// The workflow to walk.
pub struct DryRunRequest<'a> {
    pub source: &'a DryRunSource,
    pub message: String,
    pub inputs: BTreeMap<String, String>,
    pub stubs: &'a StubSet,
}

/// The result of a walk.
#[derive(Debug, Clone, PartialEq)]
pub struct DryRunReport {
    /// The events in their order, as those of a run.
    pub facts: Vec<WorkflowFact>,
    /// By the path of the node; a node of a child workflow has that of the node that starts it before it.
    pub nodes: BTreeMap<String, NodeResult>,
    pub end: WorkflowEnd,
}

/// The last state of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeResult {
    /// `completed`, `failed`, `skipped`, or `pending` if it was not settled when the run ended.
    pub status: &'static str,
    /// Its output as JSON if it is JSON, else as text.
    pub output: Value,
}

/// Walks the graph of a workflow to its end, and those of the workflows that its nodes start.
pub fn dry_run(request: DryRunRequest<'_>) -> AppResult<DryRunReport> {
    let DryRunRequest { source, message, inputs, stubs } = request;
    let inputs = resolve_inputs(&source.root.workflow, &inputs)?;
    let handled = Cell::new(0);
    let place = WalkPlace { source, handled: &handled, path: Vec::new() };
    walk_workflow(WalkedRun {
        workflow: &source.root,
        message: &message,
        inputs: &inputs,
        stubs,
        result_use: &OutputUse::default(),
        place,
    })
}

/// The state that the walks of a workflow and its children share, and which workflows have started this one.
#[derive(Clone)]
pub(super) struct WalkPlace<'a> {
    pub source: &'a DryRunSource,
    /// How many events all walks have handled.
    pub handled: &'a Cell<usize>,
    pub path: Vec<&'a str>,
}

/// A workflow with what its run gets.
pub(super) struct WalkedRun<'a> {
    pub workflow: &'a WalkedWorkflow,
    pub message: &'a str,
    pub inputs: &'a BTreeMap<String, String>,
    pub stubs: &'a StubSet,
    /// How the workflow that starts this one uses its output.
    pub result_use: &'a OutputUse,
    pub place: WalkPlace<'a>,
}

pub(super) fn walk_workflow(run: WalkedRun<'_>) -> AppResult<DryRunReport> {
    let WalkedRun { workflow, message, inputs, stubs, result_use, mut place } = run;
    let graph = workflow.compile()?;
    stubs.check(&graph, place.source).map_err(|error| AppError::from_error(ErrorKind::InvalidRequest, &error))?;
    let settings =
        GraphSettings { slots: 1, max_commands: GraphSettings::DEFAULT_MAX_COMMANDS, inputs: inputs.clone() };
    place.path.push(workflow.workflow.name.as_str());
    let walk = GraphWalk {
        state: GraphState::new(&graph, settings),
        uses: OutputUses::find(&graph, &workflow.commands).with_result_use(&graph, result_use),
        graph: &graph,
        workflow,
        place,
        message,
        inputs,
        stubs,
        taken: BTreeMap::new(),
        facts: Vec::new(),
        child_nodes: BTreeMap::new(),
        events: VecDeque::from([GraphEvent::Started]),
        end: None,
    };
    walk.run()
}

pub(super) struct GraphWalk<'a> {
    pub(super) graph: &'a Graph,
    pub(super) state: GraphState,
    workflow: &'a WalkedWorkflow,
    pub(super) place: WalkPlace<'a>,
    message: &'a str,
    inputs: &'a BTreeMap<String, String>,
    stubs: &'a StubSet,
    pub(super) uses: OutputUses,
    /// How many stubs each node has used.
    taken: BTreeMap<NodeIndex, usize>,
    pub(super) facts: Vec<WorkflowFact>,
    /// The nodes of the child workflows.
    pub(super) child_nodes: BTreeMap<String, NodeResult>,
    events: VecDeque<GraphEvent>,
    end: Option<GraphEnd>,
}

/// Why an activity was not performed.
pub(super) enum WalkFailure {
    /// The reason why its node fails.
    Node(String),
    /// The dry run itself cannot continue.
    Run(AppError),
}

impl From<String> for WalkFailure {
    fn from(reason: String) -> Self {
        Self::Node(reason)
    }
}

impl From<&str> for WalkFailure {
    fn from(reason: &str) -> Self {
        Self::Node(reason.to_owned())
    }
}

impl From<AppError> for WalkFailure {
    fn from(error: AppError) -> Self {
        Self::Run(error)
    }
}

impl<'a> GraphWalk<'a> {
    fn run(mut self) -> AppResult<DryRunReport> {
        while let Some(event) = self.events.pop_front() {
            let handled = self.place.handled.get() + 1;
            self.place.handled.set(handled);
            if handled > MAX_EVENTS {
                return Err(AppError::preflight(format!("the dry run was stopped after {MAX_EVENTS} events"))
                    .with_cause("loops repeat too often; add stubs with `done: true`"));
            }
            for effect in advance(self.graph, &mut self.state, event) {
                self.perform(effect)?;
            }
        }
        let Some(end) = self.end.take() else {
            return Err(AppError::from_message(ErrorKind::Internal, "the dry run did not reach an end"));
        };
        let mut end = describe_end(&self.workflow.workflow, &self.with_values(end), exit_code::SIGTERM);
        if end.output.is_some() {
            "all nodes have ended; this was a dry run".clone_into(&mut end.reason);
        }
        let own = self.graph.nodes().map(|(index, node)| (node.key.clone(), self.node_result(index)));
        let nodes = own.chain(self.child_nodes.clone()).collect();
        Ok(DryRunReport { facts: self.facts, nodes, end })
    }

    /// Replaces the references in the reason of a `cancel` node.
    fn with_values(&self, end: GraphEnd) -> GraphEnd {
        let GraphEnd::Cancelled { cause: cause @ GraphCancelCause::Node(id), reason } = &end else { return end };
        let node = find_cancel_node(self.graph, id).and_then(|index| Some((index, self.graph.node(index)?)));
        let values = node.and_then(|(index, node)| self.node_inputs().values(index, node).ok());
        let reason = values.map_or_else(|| reason.clone(), |values| substitute_for_people(reason, &values));
        GraphEnd::Cancelled { cause: cause.clone(), reason }
    }

    fn node_result(&self, index: NodeIndex) -> NodeResult {
        let state = self.state.node(index);
        let output = match self.state.output(index) {
            NodeOutput::Completed { typed: Some(typed), .. } => typed.value.clone(),
            NodeOutput::Completed { text, typed: None } => read_json(text),
            NodeOutput::Failed | NodeOutput::Skipped | NodeOutput::NotRun => Value::Null,
        };
        let settled = state.filter(|state| state.outcome().is_some());
        NodeResult { status: settled.map_or("pending", node_status), output }
    }

    fn perform(&mut self, effect: GraphEffect) -> AppResult<()> {
        match effect {
            GraphEffect::Record(fact) => self.facts.extend(WorkflowFact::from_graph_fact(&fact)),
            GraphEffect::Start { activity, work } => {
                let result = match self.perform_activity(activity, &work) {
                    Ok(result) => result,
                    Err(WalkFailure::Node(reason)) => failed(reason),
                    Err(WalkFailure::Run(error)) => return Err(error),
                };
                self.events.push_back(GraphEvent::ActivityEnded { activity, result });
            }
            GraphEffect::StartTimer { activity, .. } => {
                self.events.push_back(GraphEvent::RetryDelayOver { activity });
            }
            GraphEffect::AskPerson { activity, question } => {
                let answer = self.answer(activity.node, &question);
                self.events.push_back(GraphEvent::PersonAnswered { activity, answer });
            }
            GraphEffect::RefuseAnswer { activity, reason } => self.refuse(activity, &reason)?,
            GraphEffect::Announce(GraphNotice::Iteration { node, .. }) => drop(self.take_stub(node)),
            GraphEffect::Finish(end) => self.end = Some(end),
            // An activity that is stopped has its result already. A person has always answered.
            GraphEffect::Stop { .. } | GraphEffect::Park | GraphEffect::Announce(_) => {}
        }
        Ok(())
    }

    /// An answer that comes after the end of the run is refused too, which is not a mistake of the stub.
    fn refuse(&self, activity: ActivityId, reason: &str) -> AppResult<()> {
        match self.state.phase() {
            GraphPhase::Running | GraphPhase::Waiting => {
                let key = self.graph.node(activity.node).map(|node| node.key.as_str()).unwrap_or_default();
                Err(AppError::invalid_request(format!("stub of {key}: {reason}")))
            }
            GraphPhase::NotStarted | GraphPhase::Stopping(_) | GraphPhase::Ended(_) => Ok(()),
        }
    }

    /// Returns the next stub of a node, which is then the current one.
    fn take_stub(&mut self, node: NodeIndex) -> Option<&'a NodeStub> {
        *self.taken.entry(node).or_default() += 1;
        self.current_stub(node)
    }

    fn current_stub(&self, node: NodeIndex) -> Option<&'a NodeStub> {
        let taken = self.taken.get(&node).copied().unwrap_or_default();
        self.stubs.find(&self.graph.node(node)?.key, taken.saturating_sub(1))
    }

    /// Returns how an activity ends. The error is the reason why it fails.
    fn perform_activity(&mut self, activity: ActivityId, work: &Activity) -> Result<ActivityResult, WalkFailure> {
        let index = activity.node;
        let graph = self.graph;
        let node = graph.node(index).ok_or("the node does not exist")?;
        if activity.item.is_none() {
            self.node_inputs().check_texts(index, node)?;
        }
        match (&work.action, &node.definition.kind) {
            (ActivityAction::FindItems, _) => Ok(self.find_items(index, node)?),
            (ActivityAction::RunItem { value }, NodeKind::Workflow(child)) => {
                let stub = self.current_stub(index);
                let position = activity.item.unwrap_or_default() as usize;
                let each = stub.and_then(|stub| stub.each.get(position).or_else(|| stub.each.last()));
                self.run_child(&ChildNode { activity, node, child, item: Some(value) }, each)
            }
            (ActivityAction::Run, NodeKind::Workflow(child)) => {
                let stub = self.take_stub(index);
                self.run_child(&ChildNode { activity, node, child, item: None }, stub)
            }
            (ActivityAction::RunUntilBash { .. } | ActivityAction::VerifyGroup { .. }, _) => {
                Ok(ActivityResult::Judged(verdict_of(self.current_stub(index))))
            }
            (ActivityAction::Rework { .. }, _) => Ok(completed("")),
            (ActivityAction::ContinueLoop { iterations, .. }, NodeKind::Loop(control)) => {
                Ok(self.run_loop(index, node, control, *iterations)?)
            }
            (ActivityAction::Run, NodeKind::Loop(control)) => Ok(self.run_loop(index, node, control, 0)?),
            (ActivityAction::Run | ActivityAction::RunItem { .. } | ActivityAction::ContinueLoop { .. }, _) => {
                let stub = self.take_stub(index);
                if let Some(failure) = failure_of(stub) {
                    return Ok(failure);
                }
                let output = self.output(index, node, stub)?;
                Ok(ActivityResult::Completed(NodeSuccess { output, proof: None }))
            }
        }
    }

    pub(super) fn node_inputs(&self) -> NodeInputs<'_> {
        NodeInputs {
            graph: self.graph,
            state: &self.state,
            commands: &self.workflow.commands,
            inputs: self.inputs,
            message: self.message,
        }
    }

    pub(super) fn output(
        &self,
        index: NodeIndex,
        node: &CompiledNode,
        stub: Option<&NodeStub>,
    ) -> Result<SharedOutput, String> {
        let stubbed = stub.and_then(|stub| stub.output.as_ref());
        let text = match stubbed {
            Some(output) => value_text(output).into_owned(),
            None => default_output(self.graph, node, &self.uses.of(index)),
        };
        let Some(schema) = &node.definition.output_format else { return Ok(text.into()) };
        let typed = read_typed_output(&text, schema).map(TypedOutput::into_output).map_err(|error| match stubbed {
            Some(_) => format!("the stub does not fit `output_format`: {error}"),
            None => format!("no default output fits `output_format`, so that the node needs a stub: {error}"),
        })?;
        Ok(typed.into())
    }

    fn find_items(&mut self, index: NodeIndex, node: &CompiledNode) -> Result<ActivityResult, String> {
        let stub = self.take_stub(index);
        if let Some(failure) = failure_of(stub) {
            return Ok(failure);
        }
        if let Some(items) = stub.and_then(|stub| stub.items.as_ref()) {
            return Ok(ActivityResult::ItemsFound(items.clone()));
        }
        let NodeKind::Workflow(child) = &node.definition.kind else { return Err("the node has no items".to_owned()) };
        let template = child.fan_out.as_ref().map(|fan_out| fan_out.items.as_str()).unwrap_or_default();
        let text = self.node_inputs().resolve_items(index, node, template)?;
        read_items(template, &text).map(ActivityResult::ItemsFound)
    }

    /// Runs iterations until the loop completes, fails, or asks a person.
    fn run_loop(
        &mut self,
        index: NodeIndex,
        node: &CompiledNode,
        looping: &LoopNode,
        iterations: u32,
    ) -> Result<ActivityResult, String> {
        let control = &looping.control;
        for iteration in iterations.saturating_add(1)..=control.max_iterations {
            let stub = self.take_stub(index);
            if let Some(failure) = failure_of(stub) {
                return Ok(failure);
            }
            let output = self.output(index, node, stub)?;
            let is_done = stub.and_then(|stub| stub.done).unwrap_or_else(|| claims_done(looping, &output));
            if is_done && (!control.interactive || control.signal_completes) {
                return Ok(ActivityResult::Completed(NodeSuccess { output, proof: None }));
            }
            if control.interactive && (is_done || iteration < control.max_iterations) {
                let proof = ProofLevel::Unverified;
                return Ok(ActivityResult::ReachedGate(LoopGate { iteration, output, is_claimed: is_done, proof }));
            }
        }
        Err(messages::max_iterations_reached(control.max_iterations, control.until.as_deref()))
    }

    fn answer(&mut self, index: NodeIndex, question: &PersonQuestion) -> PersonAnswer {
        let (stub, default) = match question {
            PersonQuestion::Approval { .. } => (self.take_stub(index), APPROVE_DECISION),
            PersonQuestion::Gate(_) => (self.current_stub(index), COMPLETE_DECISION),
        };
        let decision = stub.and_then(|stub| stub.decision.as_deref());
        let default = match (question, stub.and_then(|stub| stub.done)) {
            // A person does not complete what is written as unfinished.
            (PersonQuestion::Gate(_), Some(false)) => APPROVE_DECISION,
            (PersonQuestion::Gate(_) | PersonQuestion::Approval { .. }, _) => default,
        };
        let text = stub.and_then(|stub| stub.text.clone()).unwrap_or_default();
        read_answer(decision.unwrap_or(default), &text)
    }
}

/// A loop without a stub is done, unless a field of its output says otherwise.
fn claims_done(looping: &LoopNode, output: &SharedOutput) -> bool {
    let field = looping.until_field.as_deref();
    field.is_none_or(|field| output.as_node_output().read(Some(field)).as_deref() == Ok("true"))
}

pub(super) fn failure_of(stub: Option<&NodeStub>) -> Option<ActivityResult> {
    let stub = stub?;
    let kind = if stub.transient { FailureKind::Transient } else { FailureKind::Permanent };
    let reason = stub.fail.clone()?;
    Some(ActivityResult::Failed(NodeFailure { reason, kind, child_outcome: None }))
}

fn verdict_of(stub: Option<&NodeStub>) -> IterationVerdict {
    match (stub.and_then(|stub| stub.fail.clone()), stub.and_then(|stub| stub.done)) {
        (Some(reason), _) => IterationVerdict::CouldNotEvaluate { reason },
        (None, Some(false)) => IterationVerdict::Rejected { feedback: None },
        (None, Some(true) | None) => IterationVerdict::Accepted { proof: ProofLevel::Unverified },
    }
}

fn failed(reason: String) -> ActivityResult {
    ActivityResult::Failed(NodeFailure { reason, kind: FailureKind::Permanent, child_outcome: None })
}

fn completed(text: impl Into<String>) -> ActivityResult {
    let output: String = text.into();
    ActivityResult::Completed(NodeSuccess { output: output.into(), proof: None })
}

fn read_json(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        Ok(_) | Err(_) => Value::String(text.to_owned()),
    }
}
