//! Runs that wait for a person: a run without a parent ends its process; a child run reports it to its parent, which may
//! have other work, and continues when the person answers.
use ralph_core::budget::format_dollars;
use ralph_core::event::StopSignal;
use ralph_core::outcome::exit_code;
use ralph_core::workflow::graph::{ActivityId, ActivityResult, GraphEvent, GraphPhase};
use ralph_engine::run_driver::{ControlEvent, SignalRequest};
use tokio::sync::mpsc::UnboundedSender;

use super::driver::{DriverInput, WorkflowDriver, WorkflowEnd};
use super::fact::WorkflowFact;
use super::orders::{OpenOrder, WorkflowOrder, WorkflowPause, open_orders};
use super::questions::OpenQuestion;
use super::services::{ChildEvent, NodeProgress};
use crate::error::AppResult;

/// The reason of an end by `pause`; the run can be resumed.
const PAUSED_REASON: &str = "paused by a person";

/// The run that has started a child run, in the same process.
pub struct ParentLink {
    pub progress: UnboundedSender<Box<NodeProgress>>,
    /// The activity of the parent that the child run performs.
    pub activity: ActivityId,
}

impl ParentLink {
    pub fn send(&self, event: ChildEvent) {
        // The parent has ended only if the process ends.
        let _ = self.progress.send(Box::new(NodeProgress::Child { activity: self.activity, event }));
    }
}

impl WorkflowDriver {
    /// Applies what a child run reports.
    pub(super) fn note_child_event(&mut self, activity: ActivityId, event: ChildEvent) {
        match event {
            ChildEvent::Started { node, run, workflow } => {
                self.messages.push(WorkflowFact::ChildStarted { node, item: activity.item, child: run, workflow });
            }
            ChildEvent::Parked { questions } => {
                self.child_questions.insert(activity, questions);
                self.events.push_back(GraphEvent::ChildParked { activity });
            }
            ChildEvent::Holding => drop(self.holding_children.insert(activity)),
            ChildEvent::Resumed => {
                self.child_questions.remove(&activity);
                self.events.push_back(GraphEvent::ChildResumed { activity });
            }
        }
    }

    /// Reports to the parent that this run waits, or that it continues.
    pub(super) async fn update_parking(&mut self) -> AppResult<()> {
        self.update_pause();
        match (self.state.phase(), self.is_parked) {
            (GraphPhase::Waiting, false) => {
                self.queue_stored_answers().await?;
                if self.events.is_empty() && self.parent.is_some() {
                    self.store_waiting().await?;
                    self.is_parked = true;
                    self.report_to_parent(ChildEvent::Parked { questions: self.open_questions() });
                }
            }
            (GraphPhase::Waiting, true) | (_, false) => {}
            (_, true) => {
                self.is_parked = false;
                self.journal.status.status = "running";
                self.report_to_parent(ChildEvent::Resumed);
            }
        }
        Ok(())
    }

    /// Applies the orders of people. Guidance is for the next agent.
    pub(super) async fn take_orders(&mut self) -> AppResult<()> {
        if self.parent.is_some() {
            return Ok(());
        }
        for OpenOrder { name, order, person } in open_orders(&self.services.host.store, &self.services.run).await? {
            let text = match order {
                WorkflowOrder::Guide { .. } => continue,
                WorkflowOrder::Limit { max_cost_micros } => {
                    self.services.host.budget.set_limit(max_cost_micros);
                    format!("{person} has set the spending limit of the run to {}", format_dollars(max_cost_micros))
                }
                WorkflowOrder::Pause(WorkflowPause::AfterNodes) => {
                    self.services.host.begin_pause();
                    format!("{person} pauses the run when the nodes that run have ended")
                }
                WorkflowOrder::Pause(WorkflowPause::Now) => {
                    self.services.host.begin_pause();
                    self.interrupt(PAUSED_REASON);
                    format!("{person} pauses the run")
                }
            };
            self.messages.push(WorkflowFact::Message { text });
            self.taken_answers.push(name);
        }
        self.record(Vec::new()).await
    }

    /// Ends this process; the run can be resumed.
    pub(super) fn interrupt(&mut self, reason: &str) {
        self.events.push_back(GraphEvent::InterruptRequested { reason: reason.to_owned() });
        for activity in std::mem::take(&mut self.held) {
            self.events.push_back(GraphEvent::ActivityEnded { activity, result: ActivityResult::Stopped });
        }
    }

    /// Ends a run that pauses, once nothing of it runs any more. A child run reports to its parent that it holds.
    fn update_pause(&mut self) {
        let is_live = matches!(self.state.phase(), GraphPhase::Running | GraphPhase::Waiting);
        let has_held = !self.held.is_empty() || !self.holding_children.is_empty();
        let is_idle = |activity: &ActivityId| {
            self.holding_children.contains(activity) || self.child_questions.contains_key(activity)
        };
        if !is_live || !has_held || !self.active.keys().all(is_idle) {
            return;
        }
        match self.parent.is_some() {
            false => self.interrupt(PAUSED_REASON),
            true if self.is_holding => {}
            true => {
                self.is_holding = true;
                self.report_to_parent(ChildEvent::Holding);
            }
        }
    }

    /// Returns whether this process has nothing to do before a person answers.
    pub(super) fn ends_waiting(&self) -> bool {
        matches!(self.state.phase(), GraphPhase::Waiting) && self.parent.is_none()
    }

    /// Lets a run that waits end with its parent.
    pub(super) fn leave_parent(&mut self) {
        self.parent = None;
    }

    /// Stores that the run waits, and ends its driving: the answer starts another process.
    pub(super) async fn end_waiting(mut self: Box<Self>) -> AppResult<WorkflowEnd> {
        let questions = self.open_questions();
        if !self.is_parked {
            self.store_waiting().await?;
        }
        self.stop_waiting_children().await;
        let names: Vec<&str> = questions.iter().map(|question| question.node.as_str()).collect();
        Ok(WorkflowEnd {
            status: "waiting",
            reason: format!("waits for a person: {}", names.join(", ")),
            exit_code: exit_code::BLOCKED,
            output: None,
            proof: None,
            node_proof: None,
            questions,
        })
    }

    async fn store_waiting(&mut self) -> AppResult<()> {
        self.journal.status.status = "waiting";
        self.messages.push(WorkflowFact::Waiting);
        self.record(Vec::new()).await
    }

    /// The questions of this run and those of its children.
    fn open_questions(&self) -> Vec<OpenQuestion> {
        self.questions.values().chain(self.child_questions.values().flatten()).cloned().collect()
    }

    /// Waits until the drivers of the children have ended. They wait too, so that nothing is lost.
    async fn stop_waiting_children(&mut self) {
        self.forward(|| ControlEvent::Signal(SignalRequest::Stop(StopSignal::Term)));
        while !self.active.is_empty() {
            match self.inputs.recv().await {
                Some(DriverInput::Ended { activity, .. }) => drop(self.active.remove(&activity)),
                Some(DriverInput::RetryDelayOver { .. }) => {}
                None => return,
            }
        }
    }

    fn report_to_parent(&self, event: ChildEvent) {
        if let Some(parent) = &self.parent {
            parent.send(event);
        }
    }
}
