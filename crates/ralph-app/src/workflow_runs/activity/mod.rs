//! How the activities of the graph are performed: agents, programs, loops, checks and child workflows. Another executor,
//! such as one with prepared outputs, replaces [`ActivityRunner::run`].
mod agent_node;
mod agent_pass;
mod checks_node;
mod child_node;
mod control_relay;
mod guidance;
mod loop_completion;
mod loop_node;
mod pass_observer;
mod read_only;
mod shell_node;
mod typed_output;

use std::sync::Arc;

use ralph_core::criterion::Criterion;
use ralph_core::workflow::graph::{ActivityResult, FailureKind, NodeFailure, NodeSuccess};
use ralph_core::workflow::{AgentNode, AgentOptions, ChecksNode, LoopNode, Node, ScriptNode};
use ralph_engine::run_driver::{ControlEvent, SignalRequest};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::UnboundedReceiver;

use super::node_values::NodeValues;
use super::services::RunServices;

pub(super) use agent_node::prompt_text;
pub(super) use child_node::ChildCall;
pub(super) use shell_node::ShellText;

/// An activity that can start: its definition and its values.
pub struct ReadyActivity {
    /// Names this start of the node in the whole run.
    pub label: String,
    /// The path of the node in the graph.
    pub node: String,
    pub definition: Node,
    pub values: NodeValues,
    pub action: ReadyAction,
    /// Whether it was running when an earlier process ended.
    pub is_recovery: bool,
    /// The last messages of the agents directly before it, for judges and plugins.
    pub report: String,
    /// The node whose session it continues, if it continues one.
    pub session: SessionChoice,
    /// Sections for the prompts of agents: why the iterations before, of the loop groups around the node, did not count
    /// as done.
    pub feedback: String,
}

/// The work of an activity.
pub enum ReadyAction {
    Agent(Box<AgentNode>),
    /// An agent that reworks what a person rejected, with this prompt.
    Rework {
        prompt: String,
        options: Box<AgentOptions>,
    },
    Bash {
        script: ShellText,
        timeout_ms: u64,
    },
    Script(Box<ScriptNode>),
    Loop {
        node: Box<LoopNode>,
        position: NodeLoopPosition,
    },
    Checks(ChecksNode),
    /// The condition that ends an iteration of a loop group.
    UntilBash {
        script: String,
    },
    /// The checks of a loop group.
    VerifyGroup {
        criteria: Vec<Criterion>,
    },
    /// The action is not supported.
    Unsupported {
        reason: String,
    },
    /// Another workflow as a separate run.
    Child(ChildCall),
    /// The list of a fan-out, which was found when the activity was prepared.
    FoundItems(Vec<Value>),
}

/// Where a loop starts or continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeLoopPosition {
    /// How many iterations have ended.
    pub iterations: u32,
    /// The words of a person at the gate before the next one.
    pub user_input: String,
}

/// Which conversation an agent continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChoice {
    Fresh,
    /// That of this node.
    Continue {
        node: String,
    },
    /// A copy of that of this node.
    Fork {
        node: String,
    },
}

/// Performs activities.
#[derive(Clone)]
pub struct ActivityRunner {
    pub services: Arc<RunServices>,
}

impl ActivityRunner {
    /// Performs an activity to its end. Control events stop or suspend it.
    pub async fn run(&self, ready: Box<ReadyActivity>, mut control: UnboundedReceiver<ControlEvent>) -> ActivityResult {
        let Some(_slot) = self.take_slot(&ready.action, &mut control).await else { return ActivityResult::Stopped };
        let before = match Box::pin(self.files_before(&ready)).await {
            Ok(before) => before,
            Err(reason) => return failed(reason),
        };
        let result = self.perform(&ready, control).await;
        match before {
            Some(before) => Box::pin(self.refuse_changed_files(before, result)).await,
            None => result,
        }
    }

    /// The work is in boxes: a run may have thousands of activities, and the largest kind would give all of them its size.
    async fn perform(&self, ready: &ReadyActivity, control: UnboundedReceiver<ControlEvent>) -> ActivityResult {
        match &ready.action {
            ReadyAction::Agent(node) => Box::pin(self.run_agent_node(ready, node, control)).await,
            ReadyAction::Rework { prompt, options } => Box::pin(self.run_rework(ready, prompt, options, control)).await,
            ReadyAction::Bash { script, timeout_ms } => {
                Box::pin(self.run_bash(ready, script, *timeout_ms, control)).await
            }
            ReadyAction::Script(script) => Box::pin(self.run_script(ready, script, control)).await,
            ReadyAction::Loop { node, position } => Box::pin(self.run_loop_node(ready, node, position, control)).await,
            ReadyAction::Checks(node) => Box::pin(self.run_checks(ready, node, control)).await,
            ReadyAction::UntilBash { script } => Box::pin(self.judge_group(ready, script, control)).await,
            ReadyAction::VerifyGroup { criteria } => Box::pin(self.verify_group(ready, criteria, control)).await,
            ReadyAction::Child(call) => self.run_child(ready, call, control).await,
            ReadyAction::Unsupported { reason } => failed(reason.clone()),
            ReadyAction::FoundItems(items) => ActivityResult::ItemsFound(items.clone()),
        }
    }

    /// Waits for a slot that the agents of the run and its children share, if the action needs one. Returns `None` if the
    /// activity was stopped meanwhile.
    async fn take_slot(
        &self,
        action: &ReadyAction,
        control: &mut UnboundedReceiver<ControlEvent>,
    ) -> Option<Option<OwnedSemaphorePermit>> {
        let needs_slot = match action {
            ReadyAction::Agent(_) | ReadyAction::Rework { .. } | ReadyAction::Loop { .. } => true,
            ReadyAction::Bash { .. }
            | ReadyAction::Script(_)
            | ReadyAction::Checks(_)
            | ReadyAction::UntilBash { .. }
            | ReadyAction::VerifyGroup { .. }
            | ReadyAction::Child(_)
            | ReadyAction::Unsupported { .. }
            | ReadyAction::FoundItems(_) => false,
        };
        if !needs_slot {
            return Some(None);
        }
        let mut slot = std::pin::pin!(Arc::clone(&self.services.host.agent_slots).acquire_owned());
        loop {
            tokio::select! {
                // The semaphore is never closed.
                slot = &mut slot => return Some(slot.ok()),
                event = control.recv() => match event {
                    Some(ControlEvent::Signal(SignalRequest::Stop(_)) | ControlEvent::LeaseLost) => return None,
                    Some(ControlEvent::Suspend(request)) => request.wait_for_continue().await,
                    Some(ControlEvent::Signal(SignalRequest::Suspend | SignalRequest::CheckOrders)) => {}
                    None => std::future::pending().await,
                },
            }
        }
    }
}

/// Returns the result of a failure that a retry does not change.
pub(super) fn failed(reason: impl Into<String>) -> ActivityResult {
    ActivityResult::Failed(NodeFailure { reason: reason.into(), kind: FailureKind::Permanent, child_outcome: None })
}

pub(super) fn completed(output: impl Into<String>) -> ActivityResult {
    let output: String = output.into();
    ActivityResult::Completed(NodeSuccess { output: output.into(), proof: None })
}
