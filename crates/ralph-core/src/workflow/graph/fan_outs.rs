//! Fan-outs: one child run for each item of a list that is found at run time. The output is the array of the results, in
//! the order of the items.
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::activity::{Activity, ActivityAction, ActivityId, ActivityResult, FailureKind, NodeFailure, NodeSuccess};
use super::compiled::NodeIndex;
use super::fact::{GraphFact, ItemRow};
use super::node_state::{ItemState, NodeOutcome, NodeState};
use super::state::{FanOutProgress, ItemRecord};
use super::transition::Transition;
use crate::workflow::{FanOut, FanOutJoin, NodeKind};

impl<'a> Transition<'a> {
    pub fn begin_fan_out(&mut self, node: NodeIndex, items: Vec<Value>) {
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let progress = FanOutProgress {
            items: items.iter().map(|_| ItemRecord { state: ItemState::Waiting, starts: 0 }).collect(),
            waiting: (0..count).collect(),
            active: 0,
            failed: 0,
        };
        self.set_state(node, NodeState::FanningOut { items: items.into() });
        self.state.fan_outs.insert(node, progress);
        if self.record(node).is_some_and(|record| record.starts > 1) {
            self.replace_item_rows(node, count);
        }
        self.continue_fan_out(node);
    }

    /// Replaces the rows of an earlier list of the same node: a restored run must not take them for those of this list.
    fn replace_item_rows(&mut self, node: NodeIndex, count: u32) {
        for item in 0..count {
            self.set_item(node, item, ItemState::Waiting);
        }
    }

    /// Starts items while there is room, and settles the node when no item is left.
    pub fn continue_fan_out(&mut self, node: NodeIndex) {
        let Some(fan_out) = self.fan_out(node) else { return };
        while self.is_live() {
            let Some(item) = self.state.fan_outs.get_mut(&node).and_then(|progress| progress.take_next(fan_out)) else {
                break;
            };
            self.start_item(node, item);
        }
        if self.is_live() && self.state.fan_outs.get(&node).is_some_and(|progress| progress.active == 0) {
            self.settle_fan_out(node, fan_out);
        }
    }

    fn start_item(&mut self, node: NodeIndex, item: u32) {
        let Some(NodeState::FanningOut { items }) = self.state.node(node) else { return };
        let value = items.as_slice().get(item as usize).cloned().unwrap_or_default();
        let Some(record) = self.item_mut(node, item) else { return };
        let is_recovery = record.state == ItemState::Interrupted;
        record.starts = record.starts.saturating_add(1);
        let activity = ActivityId { node, item: Some(item), start: record.starts };
        self.set_item(node, item, ItemState::Running);
        self.activate(activity, Activity { is_recovery, ..Activity::first(ActivityAction::RunItem { value }) });
    }

    pub fn end_item(&mut self, node: NodeIndex, item: u32, result: ActivityResult) {
        let state = match result {
            ActivityResult::Completed(NodeSuccess { output, proof }) => ItemState::Completed { output, proof },
            ActivityResult::Failed(_) | ActivityResult::Stopped if !self.is_live() => ItemState::Interrupted,
            ActivityResult::Failed(failure) => ItemState::Failed { failure },
            ActivityResult::Stopped => ItemState::Interrupted,
            ActivityResult::ItemsFound(_) | ActivityResult::Judged(_) | ActivityResult::ReachedGate(_) => {
                let reason = "internal error in ralph: unexpected result of an item".to_string();
                ItemState::Failed { failure: NodeFailure { reason, kind: FailureKind::Permanent, child_outcome: None } }
            }
        };
        if let Some(progress) = self.state.fan_outs.get_mut(&node) {
            progress.active = progress.active.saturating_sub(1);
            progress.failed += u32::from(state.has_failed());
        }
        self.set_item(node, item, state);
        self.continue_fan_out(node);
    }

    pub fn set_item_parked(&mut self, node: NodeIndex, item: u32, is_parked: bool) {
        self.set_item(node, item, if is_parked { ItemState::Parked } else { ItemState::Running });
    }

    fn settle_fan_out(&mut self, node: NodeIndex, fan_out: &FanOut) {
        let Some(progress) = self.state.fan_outs.get(&node) else { return };
        let outcome = match (fan_out.join, first_failure(&progress.items)) {
            (FanOutJoin::AllSuccess, Some((item, failure))) => NodeOutcome::Failed(NodeFailure {
                reason: format!("item {} of {} failed: {}", item + 1, progress.items.len(), failure.reason),
                kind: FailureKind::Permanent,
                child_outcome: failure.child_outcome,
            }),
            (FanOutJoin::AllDone, _) | (FanOutJoin::AllSuccess, None) => {
                let results: Vec<Value> = progress.items.iter().map(|record| record.state.result()).collect();
                let proof = progress.items.iter().filter_map(|record| record.state.proof()).min();
                NodeOutcome::Completed { output: Value::Array(results).to_string().into(), proof }
            }
        };
        self.settle(node, outcome);
    }

    fn fan_out(&self, node: NodeIndex) -> Option<&'a FanOut> {
        let compiled = self.compiled(node)?;
        if let NodeKind::Workflow(child) = &compiled.definition.kind { child.fan_out.as_ref() } else { None }
    }

    fn item_mut(&mut self, node: NodeIndex, item: u32) -> Option<&mut ItemRecord> {
        self.state.fan_outs.get_mut(&node)?.items.get_mut(item as usize)
    }

    fn set_item(&mut self, node: NodeIndex, item: u32, state: ItemState) {
        let generation = self.surrounding_generation(node);
        let Some(compiled) = self.compiled(node) else { return };
        let Some(record) = self.item_mut(node, item) else { return };
        record.state = state.clone();
        let row = ItemRow { key: compiled.key.clone(), generation, item, starts: record.starts, state };
        self.push_fact(GraphFact::Item(row));
    }
}

impl FanOutProgress {
    /// Returns the next item to start. After a failure with `all_success`, only items that had started are continued.
    fn take_next(&mut self, fan_out: &FanOut) -> Option<u32> {
        let next = *self.waiting.front()?;
        let has_started = self.items.get(next as usize).is_some_and(|item| item.state == ItemState::Interrupted);
        let is_given_up = fan_out.join == FanOutJoin::AllSuccess && self.failed > 0 && !has_started;
        if is_given_up || self.active >= fan_out.max_parallel.max(1) {
            return None;
        }
        self.active += 1;
        self.waiting.pop_front()
    }
}

fn first_failure(items: &[ItemRecord]) -> Option<(usize, &NodeFailure)> {
    items.iter().enumerate().find_map(|(position, record)| match &record.state {
        ItemState::Failed { failure } => Some((position, failure)),
        ItemState::Waiting
        | ItemState::Running
        | ItemState::Parked
        | ItemState::Interrupted
        | ItemState::Completed { .. } => None,
    })
}

impl ItemState {
    pub(super) fn has_failed(&self) -> bool {
        match self {
            Self::Failed { .. } => true,
            Self::Waiting | Self::Running | Self::Parked | Self::Interrupted | Self::Completed { .. } => false,
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Failed { .. } | Self::Completed { .. } => true,
            Self::Waiting | Self::Running | Self::Parked | Self::Interrupted => false,
        }
    }

    fn proof(&self) -> Option<crate::receipt::ProofLevel> {
        match self {
            Self::Completed { output: _, proof } => *proof,
            Self::Waiting | Self::Running | Self::Parked | Self::Interrupted | Self::Failed { .. } => None,
        }
    }

    /// Returns the element of the array: the output, as JSON if it is an object or a list and else as text, or the
    /// failure as data.
    fn result(&self) -> Value {
        match self {
            Self::Completed { output, proof: _ } => match serde_json::from_str(output.text()) {
                Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
                Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | Err(_) => output.text().into(),
            },
            Self::Failed { failure } => {
                let status = failure.child_outcome.map_or("failed", crate::outcome::Outcome::as_str);
                json!({ "archon_failed": true, "error": failure.reason, "status": status })
            }
            Self::Waiting | Self::Running | Self::Parked | Self::Interrupted => Value::Null,
        }
    }
}
