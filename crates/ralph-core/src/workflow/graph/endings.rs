//! The ends of activities: success, failure with its retries, and gates.
use alloc::format;
use alloc::string::ToString;

use super::activity::{Activity, ActivityAction, ActivityId, ActivityResult, FailureKind, NodeFailure, NodeSuccess};
use super::compiled::NodeIndex;
use super::effect::GraphEffect;
use super::node_state::{NodeOutcome, NodeState};
use super::outcome::{GraphEnd, GraphPhase};
use super::person::PersonQuestion;
use super::transition::Transition;
use crate::workflow::{NodeKind, NodeRetry, RetryScope};

/// The retries of agent nodes without `retry`.
const AGENT_RETRIES: u32 = 2;
/// The delay before the first retry of agent nodes without `retry`.
const RETRY_DELAY_MS: u64 = 3_000;

impl Transition<'_> {
    pub fn end_activity(&mut self, activity: ActivityId, result: ActivityResult) {
        if !self.deactivate(activity) {
            return;
        }
        if result == ActivityResult::Stopped {
            self.stop(GraphEnd::Interrupted { reason: "an activity was stopped".to_string() });
        }
        let node = activity.node;
        match (activity.item, self.state.node(node).cloned()) {
            (Some(item), _) => self.end_item(node, item, result),
            (None, Some(NodeState::Running { work } | NodeState::Parked { work })) => {
                self.end_work(node, &work, result);
            }
            (None, Some(NodeState::Repeating(progress))) => self.judge_iteration(node, progress, result),
            (
                None,
                Some(
                    NodeState::Pending
                    | NodeState::Queued { .. }
                    | NodeState::Interrupted { .. }
                    | NodeState::AwaitingRetry { .. }
                    | NodeState::Asking { .. }
                    | NodeState::FanningOut { .. }
                    | NodeState::Settled { .. },
                )
                | None,
            ) => {}
        }
    }

    fn end_work(&mut self, node: NodeIndex, work: &Activity, result: ActivityResult) {
        match result {
            ActivityResult::Completed(success) => self.complete_work(node, work, success),
            ActivityResult::ReachedGate(gate) => self.ask(node, PersonQuestion::Gate(gate)),
            ActivityResult::ItemsFound(items) => self.begin_fan_out(node, items),
            ActivityResult::Failed(_) | ActivityResult::Stopped if !self.is_live() => {
                self.set_state(node, NodeState::Interrupted { work: work.clone() });
            }
            ActivityResult::Failed(failure) => self.fail_work(node, work, failure),
            ActivityResult::Stopped => self.set_state(node, NodeState::Interrupted { work: work.clone() }),
            ActivityResult::Judged(verdict) => {
                let reason = format!("internal error in ralph: unexpected verdict {verdict:?}");
                self.fail(node, NodeFailure { reason, kind: FailureKind::Permanent, child_outcome: None });
            }
        }
    }

    fn complete_work(&mut self, node: NodeIndex, work: &Activity, success: NodeSuccess) {
        match &work.action {
            ActivityAction::Rework { reason: _, round } => self.ask_approval(node, *round),
            ActivityAction::Run
            | ActivityAction::FindItems
            | ActivityAction::RunItem { .. }
            | ActivityAction::ContinueLoop { .. }
            | ActivityAction::RunUntilBash { .. }
            | ActivityAction::VerifyGroup { .. } => {
                let NodeSuccess { output, proof } = success;
                self.settle(node, NodeOutcome::Completed { output, proof });
            }
        }
    }

    /// Retries the work after a delay, or fails the node.
    fn fail_work(&mut self, node: NodeIndex, work: &Activity, failure: NodeFailure) {
        let Some(compiled) = self.compiled(node) else { return };
        let policy = RetryPolicy::of_node(&compiled.definition.kind, compiled.definition.retry, &work.action);
        match policy.delay_before_retry(&failure, work.attempt) {
            Some(delay_ms) => {
                self.set_state(node, NodeState::AwaitingRetry { work: work.retry(), delay_ms, failure });
                self.start_retry_timer(node, delay_ms);
            }
            None => self.fail(node, failure),
        }
    }

    pub fn fail(&mut self, node: NodeIndex, failure: NodeFailure) {
        self.settle(node, NodeOutcome::Failed(failure));
    }

    pub fn start_retry_timer(&mut self, node: NodeIndex, delay_ms: u64) {
        let start = self.record(node).map_or(0, |record| record.starts);
        self.state.retries += 1;
        self.push_effect(GraphEffect::StartTimer { activity: ActivityId { node, item: None, start }, delay_ms });
    }

    pub fn retry(&mut self, activity: ActivityId) {
        let Some(record) = self.record(activity.node) else { return };
        let (is_current, state) = (record.starts == activity.start, record.state.clone());
        if let NodeState::AwaitingRetry { work, .. } = state
            && is_current
            && self.is_live()
        {
            self.state.retries -= 1;
            self.queue(activity.node, work);
        }
    }

    pub fn set_parked(&mut self, activity: ActivityId, is_parked: bool) {
        let Some(work) = self.state.active.get_mut(&activity) else { return };
        if work.is_parked == is_parked || matches!(self.state.phase, GraphPhase::Stopping(_)) {
            return;
        }
        work.is_parked = is_parked;
        if is_parked {
            self.state.parked += 1;
        } else {
            self.state.parked -= 1;
        }
        match (activity.item, self.state.node(activity.node).cloned()) {
            (Some(item), _) => self.set_item_parked(activity.node, item, is_parked),
            (None, Some(NodeState::Running { work } | NodeState::Parked { work })) => {
                let state = if is_parked { NodeState::Parked { work } } else { NodeState::Running { work } };
                self.set_state(activity.node, state);
            }
            (None, _) => {}
        }
    }
}

/// Which failures of a node are retried, and how often.
struct RetryPolicy {
    retries: u32,
    delay_ms: u64,
    scope: RetryScope,
    /// Whether a check that could not be evaluated is repeated once, in addition to the retries.
    repeats_unevaluated: bool,
}

impl RetryPolicy {
    fn of_node(kind: &NodeKind, configured: Option<NodeRetry>, action: &ActivityAction) -> Self {
        let none =
            Self { retries: 0, delay_ms: RETRY_DELAY_MS, scope: RetryScope::Transient, repeats_unevaluated: false };
        let configured = configured.map(|retry| Self {
            retries: retry.max_attempts,
            delay_ms: retry.delay_ms,
            scope: retry.on_error,
            repeats_unevaluated: false,
        });
        let agent = Self { retries: AGENT_RETRIES, ..none };
        match (kind, action) {
            (NodeKind::Agent(_), _) | (NodeKind::Approval(_), ActivityAction::Rework { .. }) => {
                configured.unwrap_or(agent)
            }
            (NodeKind::Bash(_) | NodeKind::Script(_), _) => configured.unwrap_or(none),
            (NodeKind::Checks(_), _) => Self { repeats_unevaluated: true, ..configured.unwrap_or(none) },
            (
                NodeKind::Loop(_)
                | NodeKind::LoopGroup(_)
                | NodeKind::Approval(_)
                | NodeKind::Cancel { .. }
                | NodeKind::Workflow(_),
                _,
            ) => none,
        }
    }

    /// Returns the delay before the next attempt, or `None` if there is none.
    fn delay_before_retry(&self, failure: &NodeFailure, attempt: u32) -> Option<u64> {
        let is_unevaluated = failure.kind == FailureKind::CouldNotEvaluate;
        if is_unevaluated && self.repeats_unevaluated && attempt == 1 {
            return Some(0);
        }
        let is_in_scope = match (self.scope, failure.kind) {
            (RetryScope::All, _) | (RetryScope::Transient, FailureKind::Transient) => true,
            (
                RetryScope::Transient,
                FailureKind::Permanent | FailureKind::CouldNotEvaluate | FailureKind::Condition,
            ) => false,
        };
        let doublings = attempt.saturating_sub(1);
        let delay = self.delay_ms.saturating_mul(1_u64.checked_shl(doublings).unwrap_or(u64::MAX));
        (is_in_scope && attempt <= self.retries).then_some(delay)
    }
}
