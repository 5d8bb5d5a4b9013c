//! Approvals and gates: questions to a person, and what the answers do.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::json;

use super::activity::{Activity, ActivityAction, ActivityId};
use super::compiled::NodeIndex;
use super::effect::GraphEffect;
use super::node_state::{GroupStage, NodeOutcome, NodeState};
use super::outcome::{GraphCancelCause, GraphEnd};
use super::person::{
    APPROVE_DECISION, COMPLETE_DECISION, CONTINUE_DECISION, LoopGate, PersonAnswer, PersonQuestion, REJECT_DECISION,
};
use super::transition::Transition;
use crate::workflow::{ApprovalNode, NodeKind};

impl Transition<'_> {
    pub fn ask_approval(&mut self, node: NodeIndex, rejections: u32) {
        self.ask(node, PersonQuestion::Approval { rejections });
    }

    /// Asks a new question. While the run is being stopped, the question is only stored: a resumed run asks it.
    pub fn ask(&mut self, node: NodeIndex, question: PersonQuestion) {
        let activity = self.next_activity(node);
        self.set_state(node, NodeState::Asking { question: question.clone() });
        if self.is_live() {
            self.push_effect(GraphEffect::AskPerson { activity, question });
        }
    }

    /// Shows an open question again, with the same activity.
    pub fn ask_again(&mut self, node: NodeIndex, question: PersonQuestion) {
        let start = self.record(node).map_or(0, |record| record.starts);
        self.push_effect(GraphEffect::AskPerson { activity: ActivityId { node, item: None, start }, question });
    }

    pub fn answer(&mut self, activity: ActivityId, answer: PersonAnswer) {
        let refusal = match self.open_question(activity) {
            None => Err("the question is no longer open".to_string()),
            Some(_) if !self.is_live() => Err("the run is being stopped".to_string()),
            Some(PersonQuestion::Approval { rejections }) => self.answer_approval(activity.node, rejections, answer),
            Some(PersonQuestion::Gate(gate)) => self.answer_gate(activity.node, gate, answer),
        };
        if let Err(reason) = refusal {
            self.push_effect(GraphEffect::RefuseAnswer { activity, reason });
        }
    }

    fn open_question(&self, activity: ActivityId) -> Option<PersonQuestion> {
        let record = self.record(activity.node).filter(|record| record.starts == activity.start)?;
        match &record.state {
            NodeState::Asking { question } => Some(question.clone()),
            NodeState::Repeating(progress) => match &progress.stage {
                GroupStage::AtGate(gate) => Some(PersonQuestion::Gate(gate.clone())),
                GroupStage::Working | GroupStage::RunningUntilBash { .. } | GroupStage::Verifying { .. } => None,
            },
            NodeState::Pending
            | NodeState::Queued { .. }
            | NodeState::Running { .. }
            | NodeState::Parked { .. }
            | NodeState::Interrupted { .. }
            | NodeState::AwaitingRetry { .. }
            | NodeState::FanningOut { .. }
            | NodeState::Settled { .. } => None,
        }
    }

    fn answer_approval(&mut self, node: NodeIndex, rejections: u32, answer: PersonAnswer) -> Result<(), String> {
        let Some(compiled) = self.compiled(node) else { return Ok(()) };
        let NodeKind::Approval(approval) = &compiled.definition.kind else { return Ok(()) };
        match ApprovalAnswer::read(approval, answer)? {
            ApprovalAnswer::Complete { output } => {
                self.settle(node, NodeOutcome::Completed { output: output.into(), proof: None });
            }
            ApprovalAnswer::Reject { text } => match &approval.on_reject {
                Some(rework) if rejections < rework.max_attempts => {
                    let action = ActivityAction::Rework { reason: text, round: rejections + 1 };
                    self.queue(node, Activity::first(action));
                }
                Some(_) | None => self.cancel_by_rejection(node, text),
            },
        }
        Ok(())
    }

    fn cancel_by_rejection(&mut self, node: NodeIndex, text: String) {
        let Some(compiled) = self.compiled(node) else { return };
        let reason = if text.is_empty() { format!("{} was rejected", compiled.id()) } else { text };
        self.stop(GraphEnd::Cancelled { cause: GraphCancelCause::Rejection(compiled.id().clone()), reason });
    }

    fn answer_gate(&mut self, node: NodeIndex, gate: LoopGate, answer: PersonAnswer) -> Result<(), String> {
        match GateAnswer::read(&gate, answer)? {
            GateAnswer::Complete => self.complete_loop(node, gate),
            GateAnswer::Continue { input } => self.continue_loop(node, gate, input),
            GateAnswer::Reject { text } => self.cancel_by_rejection(node, text),
        }
        Ok(())
    }

    fn complete_loop(&mut self, node: NodeIndex, gate: LoopGate) {
        let LoopGate { iteration, output, is_claimed: _, proof } = gate;
        if self.state.group_progress(node).is_some() {
            self.complete_group(node, iteration, output, proof);
        } else {
            self.settle(node, NodeOutcome::Completed { output, proof: Some(proof) });
        }
    }

    fn continue_loop(&mut self, node: NodeIndex, gate: LoopGate, input: String) {
        match self.state.group_progress(node).cloned() {
            Some(progress) => self.next_iteration(node, &progress, gate.output, input),
            None => {
                let action = ActivityAction::ContinueLoop { iterations: gate.iteration, input };
                self.queue(node, Activity::first(action));
            }
        }
    }
}

enum ApprovalAnswer {
    Complete { output: String },
    Reject { text: String },
}

impl ApprovalAnswer {
    /// Reads an answer. A declared decision is data, `reject` too: the author branches on it. An undeclared `reject`
    /// rejects.
    fn read(approval: &ApprovalNode, answer: PersonAnswer) -> Result<Self, String> {
        let (decision, text) = match answer {
            PersonAnswer::Approve { text } => (APPROVE_DECISION.to_string(), text),
            PersonAnswer::Reject { text } => (REJECT_DECISION.to_string(), text),
            PersonAnswer::Decide { decision, text } => (decision, text),
        };
        if approval.decisions.iter().any(|declared| declared.id == decision) {
            let output = json!({ "decision": decision, "text": text }).to_string();
            return Ok(Self::Complete { output });
        }
        match decision.as_str() {
            APPROVE_DECISION if approval.decisions.is_empty() => {
                Ok(Self::Complete { output: if approval.capture_response { text } else { String::new() } })
            }
            REJECT_DECISION => Ok(Self::Reject { text }),
            _ => Err(format!("{decision} is not a decision of this approval; use {}", list_decisions(approval))),
        }
    }
}

fn list_decisions(approval: &ApprovalNode) -> String {
    if approval.decisions.is_empty() {
        return format!("{APPROVE_DECISION} or {REJECT_DECISION}");
    }
    let ids: Vec<&str> = approval.decisions.iter().map(|decision| decision.id.as_str()).collect();
    ids.join(", ")
}

enum GateAnswer {
    Complete,
    Continue { input: String },
    Reject { text: String },
}

impl GateAnswer {
    fn read(gate: &LoopGate, answer: PersonAnswer) -> Result<Self, String> {
        match answer {
            PersonAnswer::Approve { text } => Ok(Self::approve(gate, text)),
            PersonAnswer::Reject { text } => Ok(Self::Reject { text }),
            PersonAnswer::Decide { decision, text } => match decision.as_str() {
                APPROVE_DECISION => Ok(Self::approve(gate, text)),
                REJECT_DECISION => Ok(Self::Reject { text }),
                COMPLETE_DECISION => Ok(Self::Complete),
                CONTINUE_DECISION => Ok(Self::Continue { input: text }),
                _ => Err(format!(
                    "{decision} is not a decision at the gate of a loop; use {COMPLETE_DECISION}, {CONTINUE_DECISION}, \
                     {APPROVE_DECISION} or {REJECT_DECISION}"
                )),
            },
        }
    }

    fn approve(gate: &LoopGate, text: String) -> Self {
        if gate.is_claimed { Self::Complete } else { Self::Continue { input: text } }
    }
}
