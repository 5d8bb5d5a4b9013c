//! One step of the graph machine: handles an event, and collects facts and effects.
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::activity::{Activity, ActivityAction, ActivityId};
use super::compiled::{CompiledNode, Graph, NodeIndex};
use super::effect::{GraphEffect, GraphNotice};
use super::event::GraphEvent;
use super::fact::{GraphFact, NodeRow};
use super::node_state::{NodeOutcome, NodeState};
use super::outcome::{GraphCancelCause, GraphEnd, GraphPhase};
use super::state::{ActiveWork, GraphState, NodeRecord, SlotClass, SlotQueue};
use crate::workflow::NodeKind;

/// Advances a run by one event. Returns the facts to store, and then the other effects in the order in which they are
/// performed.
pub fn advance(graph: &Graph, state: &mut GraphState, event: GraphEvent) -> Vec<GraphEffect> {
    let mut transition = Transition {
        graph,
        state,
        facts: Vec::new(),
        effects: Vec::new(),
        settled: VecDeque::new(),
        finished_groups: VecDeque::new(),
    };
    transition.handle(event);
    transition.finish()
}

pub(super) struct Transition<'a> {
    pub graph: &'a Graph,
    pub state: &'a mut GraphState,
    facts: Vec<GraphFact>,
    effects: Vec<GraphEffect>,
    /// Settled nodes whose dependants have not been informed.
    pub settled: VecDeque<NodeIndex>,
    /// Groups whose nodes are all settled.
    pub finished_groups: VecDeque<NodeIndex>,
}

impl<'a> Transition<'a> {
    fn handle(&mut self, event: GraphEvent) {
        match event {
            GraphEvent::Started => self.start_or_resume(),
            GraphEvent::ActivityEnded { activity, result } => self.end_activity(activity, result),
            GraphEvent::ChildParked { activity } => self.set_parked(activity, true),
            GraphEvent::ChildResumed { activity } => self.set_parked(activity, false),
            GraphEvent::RetryDelayOver { activity } => self.retry(activity),
            GraphEvent::PersonAnswered { activity, answer } => self.answer(activity, answer),
            GraphEvent::CancelRequested { reason } => {
                self.stop(GraphEnd::Cancelled { cause: GraphCancelCause::Person, reason });
            }
            GraphEvent::BudgetExhausted { reason } => self.stop(GraphEnd::OverBudget { reason }),
            GraphEvent::InterruptRequested { reason } => self.stop(GraphEnd::Interrupted { reason }),
        }
    }

    fn finish(mut self) -> Vec<GraphEffect> {
        self.propagate();
        self.fill_slots();
        self.update_phase();
        self.facts.into_iter().map(GraphEffect::Record).chain(self.effects).collect()
    }

    /// Informs dependants and groups of settled nodes, until nothing changes any more. A group ends its iteration after
    /// the dependants of its nodes are informed: their counters belong to that iteration.
    fn propagate(&mut self) {
        while self.is_live() {
            if let Some(node) = self.settled.pop_front() {
                self.inform_dependants(node);
            } else if let Some(group) = self.finished_groups.pop_front() {
                self.end_iteration(group);
            } else {
                break;
            }
        }
    }

    fn fill_slots(&mut self) {
        for class in [SlotClass::Agent, SlotClass::Command] {
            while self.is_live() {
                let Some(next) = self.state.slot_queue(class).and_then(SlotQueue::take_next) else { break };
                self.start_queued(next);
            }
        }
    }

    /// Returns whether nodes may start and settle.
    pub fn is_live(&self) -> bool {
        match self.state.phase {
            GraphPhase::Running | GraphPhase::Waiting => true,
            GraphPhase::NotStarted | GraphPhase::Stopping(_) | GraphPhase::Ended(_) => false,
        }
    }

    /// Returns a node of the graph, with the lifetime of the graph.
    pub fn compiled(&self, node: NodeIndex) -> Option<&'a CompiledNode> {
        self.graph.node(node)
    }

    pub fn record(&self, node: NodeIndex) -> Option<&NodeRecord> {
        self.state.record(node)
    }

    pub fn push_effect(&mut self, effect: GraphEffect) {
        self.effects.push(effect);
    }

    pub fn push_fact(&mut self, fact: GraphFact) {
        self.facts.push(fact);
    }

    pub fn announce(&mut self, notice: GraphNotice) {
        self.push_effect(GraphEffect::Announce(notice));
    }

    /// Changes the state of a node, and stores it.
    pub fn set_state(&mut self, node: NodeIndex, state: NodeState) {
        if let Some(record) = self.state.record_mut(node) {
            record.state = state;
        }
        self.store(node);
    }

    fn store(&mut self, node: NodeIndex) {
        let generation = self.surrounding_generation(node);
        let (Some(compiled), Some(record)) = (self.compiled(node), self.record(node)) else { return };
        let row = NodeRow { key: compiled.key.clone(), generation, starts: record.starts, state: record.state.clone() };
        self.push_fact(GraphFact::Node(row));
    }

    pub fn surrounding_generation(&self, node: NodeIndex) -> u32 {
        let group = self.compiled(node).and_then(|node| node.group);
        group.and_then(|group| self.record(group)).map_or(0, |group| group.generation)
    }

    /// Counts a start or a question of the node, and returns its id.
    pub fn next_activity(&mut self, node: NodeIndex) -> ActivityId {
        let start = self.state.record_mut(node).map_or(0, |record| {
            record.starts = record.starts.saturating_add(1);
            record.starts
        });
        ActivityId { node, item: None, start }
    }

    /// Starts work of a node, or queues it until a slot is free.
    pub fn queue(&mut self, node: NodeIndex, work: Activity) {
        let class = self.slot_class(node, &work.action);
        // A node that has never started is found again through its dependencies.
        let is_derivable = work.action == ActivityAction::Run && work.attempt == 1 && !work.is_recovery;
        if let Some(record) = self.state.record_mut(node) {
            record.state = NodeState::Queued { work };
        }
        if !is_derivable {
            self.store(node);
        }
        match self.state.slot_queue(class) {
            Some(queue) => {
                queue.queued.insert(node);
            }
            None => self.start_queued(node),
        }
    }

    fn start_queued(&mut self, node: NodeIndex) {
        let Some(NodeState::Queued { work }) = self.state.node(node).cloned() else { return };
        let activity = self.next_activity(node);
        self.announce_step(node, &work);
        self.set_state(node, NodeState::Running { work: work.clone() });
        self.activate(activity, work);
    }

    fn announce_step(&mut self, node: NodeIndex, work: &Activity) {
        let is_first = work.attempt == 1 && !work.is_recovery;
        let (Some(total), Some(compiled)) = (self.graph.step_count(), self.compiled(node)) else { return };
        if is_first && compiled.group.is_none() {
            self.announce(GraphNotice::Step { node, number: compiled.step, total });
        }
    }

    /// Requests the activity, and counts it under its limit.
    pub fn activate(&mut self, activity: ActivityId, work: Activity) {
        let class = self.slot_class(activity.node, &work.action);
        if let Some(queue) = self.state.slot_queue(class) {
            queue.running += 1;
        }
        self.state.active.insert(activity, ActiveWork { class, is_parked: false });
        self.push_effect(GraphEffect::Start { activity, work });
    }

    /// Removes an activity that has ended. Returns whether it was active.
    pub fn deactivate(&mut self, activity: ActivityId) -> bool {
        let Some(work) = self.state.active.remove(&activity) else { return false };
        if work.is_parked {
            self.state.parked -= 1;
        }
        if let Some(queue) = self.state.slot_queue(work.class) {
            queue.running -= 1;
        }
        true
    }

    fn slot_class(&self, node: NodeIndex, action: &ActivityAction) -> SlotClass {
        match action {
            ActivityAction::ContinueLoop { .. } | ActivityAction::Rework { .. } => SlotClass::Agent,
            ActivityAction::FindItems
            | ActivityAction::RunItem { .. }
            | ActivityAction::RunUntilBash { .. }
            | ActivityAction::VerifyGroup { .. } => SlotClass::Unlimited,
            ActivityAction::Run => {
                self.compiled(node).map_or(SlotClass::Unlimited, |node| run_class(&node.definition.kind))
            }
        }
    }

    /// Settles a node. Its dependants are informed later, see `propagate`.
    pub fn settle(&mut self, node: NodeIndex, outcome: NodeOutcome) {
        self.set_state(node, NodeState::Settled { outcome });
        self.state.fan_outs.remove(&node);
        match self.compiled(node).and_then(|compiled| compiled.group) {
            None => self.state.unsettled -= 1,
            Some(group) => {
                if let Some(unsettled) = self.state.unsettled_in_group.get_mut(&group) {
                    *unsettled -= 1;
                    if *unsettled == 0 {
                        self.finished_groups.push_back(group);
                    }
                }
            }
        }
        self.settled.push_back(node);
    }

    fn inform_dependants(&mut self, node: NodeIndex) {
        let Some(compiled) = self.compiled(node) else { return };
        let Some(outcome) = self.state.node(node).and_then(NodeState::outcome).cloned() else { return };
        for dependant in &compiled.dependants {
            let Some(record) = self.state.record_mut(*dependant) else { continue };
            record.dependencies.add_outcome(&outcome);
            let is_ready = record.dependencies.unsettled == 0 && record.state == NodeState::Pending;
            if is_ready && self.is_live() {
                self.decide_start(*dependant);
            }
        }
    }
}

fn run_class(kind: &NodeKind) -> SlotClass {
    match kind {
        NodeKind::Agent(_) | NodeKind::Loop(_) => SlotClass::Agent,
        NodeKind::Bash(_) | NodeKind::Script(_) | NodeKind::Checks(_) => SlotClass::Command,
        NodeKind::LoopGroup(_) | NodeKind::Approval(_) | NodeKind::Cancel { .. } | NodeKind::Workflow(_) => {
            SlotClass::Unlimited
        }
    }
}
