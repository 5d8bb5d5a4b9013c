//! The graph machine: decides which node of a workflow starts, waits, is retried or skipped, and how the run ends.
//!
//! A [`Graph`] is compiled once from a workflow. [`GraphState::new`] or [`GraphState::restore`] gives the state of a run,
//! and [`advance`] takes an event and returns the effects. The first event of a process is [`GraphEvent::Started`], for a
//! new run and for a restored one. The caller stores the facts of [`GraphEffect::Record`] in one transaction, and then
//! performs the other effects in their order.
//!
//! Responsibilities:
//!
//! - A `loop` node is one activity: the executor runs its iterations as a separate run, with all rules of loops. Only the
//!   gate of an interactive loop comes here ([`ActivityResult::ReachedGate`]), because a person may answer days later.
//! - The nodes of a loop group are nodes of this graph. The machine decides about iterations; the executor runs
//!   `until_bash` and the checks, and reports verdicts.
//! - The executor replaces variables in texts, validates outputs, and finds the items of a fan-out.
//!
//! An event costs as much as the nodes that it settles have dependants; the graph is never scanned. Exceptions are
//! [`GraphEvent::Started`] and the end of the run, which occur once.
mod activity;
mod compiled;
mod effect;
mod endings;
mod event;
mod fact;
mod fan_outs;
mod groups;
mod lifecycle;
mod node_state;
mod outcome;
mod output;
mod person;
mod questions;
mod readiness;
mod rerun;
mod restore;
mod state;
mod transition;

#[cfg(test)]
mod tests;

pub use activity::{
    Activity, ActivityAction, ActivityId, ActivityResult, FailureKind, IterationVerdict, NodeFailure, NodeSuccess,
};
pub use compiled::{CompiledNode, Graph, GraphError, NodeIndex, Scope};
pub use effect::{GraphEffect, GraphNotice};
pub use event::GraphEvent;
pub use fact::{GraphFact, ItemRow, NodeRow, StoredGraph};
pub use node_state::{GroupProgress, GroupStage, ItemState, NodeOutcome, NodeState, SkipReason};
pub use outcome::{FailedNode, GraphCancelCause, GraphEnd, GraphFailure, GraphPhase};
pub use output::{FanOutItems, SharedOutput};
pub use person::{
    APPROVE_DECISION, COMPLETE_DECISION, CONTINUE_DECISION, LoopGate, PersonAnswer, PersonQuestion, REJECT_DECISION,
};
pub use rerun::RerunPlan;
pub use state::{GraphSettings, GraphState};
pub use transition::advance;
