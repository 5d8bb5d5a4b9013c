//! Loop groups: their nodes run once per iteration, until a completion is claimed and accepted.
use alloc::format;
use alloc::string::{String, ToString};

use super::activity::{Activity, ActivityAction, ActivityResult, FailureKind, IterationVerdict, NodeFailure};
use super::compiled::{CompiledNode, NodeIndex};
use super::effect::{GraphEffect, GraphNotice};
use super::node_state::{GroupProgress, GroupStage, NodeOutcome, NodeState};
use super::output::SharedOutput;
use super::person::{LoopGate, PersonQuestion};
use super::state::DependencyCounts;
use super::transition::Transition;
use crate::claim::{ClaimFinder, ClaimRules, ContradictionSearch, PlainLinePolicy, Promise, TranscriptEvent};
use crate::prompt::RejectionFeedback;
use crate::receipt::ProofLevel;
use crate::workflow::{LoopControl, LoopGroupNode, NodeKind, messages};

/// How many consecutive iterations without a verdict fail a group.
const MAX_UNEVALUATED: u32 = 2;

impl LoopControl {
    /// Returns whether a claimed completion ends the loop without a question to the person. A person has been asked
    /// already if the iteration has the answer of a gate.
    #[must_use]
    pub fn completes_without_person(&self, has_user_input: bool) -> bool {
        !self.interactive || self.signal_completes || has_user_input
    }
}

impl<'a> Transition<'a> {
    pub fn begin_group(&mut self, node: NodeIndex) {
        self.next_activity(node);
        self.begin_iteration(
            node,
            GroupProgress {
                iteration: 1,
                generation: 0,
                user_input: String::new(),
                previous_output: SharedOutput::default(),
                unevaluated: 0,
                feedback: None,
                stage: GroupStage::Working,
            },
        );
    }

    fn begin_iteration(&mut self, node: NodeIndex, progress: GroupProgress) {
        let Some((compiled, group)) = self.loop_group(node) else { return };
        let Some(record) = self.state.record_mut(node) else { return };
        record.generation = record.generation.saturating_add(1);
        let (iteration, generation) = (progress.iteration, record.generation);
        self.announce(GraphNotice::Iteration { node, iteration, max_iterations: group.control.max_iterations });
        self.set_state(node, NodeState::Repeating(GroupProgress { generation, ..progress }));
        self.state.unsettled_in_group.insert(node, compiled.scope.nodes.len());
        for member in &compiled.scope.nodes {
            self.reset_member(*member);
        }
        for member in &compiled.scope.nodes {
            let Some(record) = self.record(*member) else { continue };
            if self.is_live() && record.dependencies.unsettled == 0 && record.state == NodeState::Pending {
                self.decide_start(*member);
            }
        }
    }

    fn reset_member(&mut self, member: NodeIndex) {
        let total = self.compiled(member).map_or(0, |compiled| compiled.dependencies.len());
        let Some(record) = self.state.record_mut(member) else { return };
        record.previous = record.state.outcome().cloned();
        record.state = NodeState::Pending;
        record.dependencies = DependencyCounts { unsettled: total, ..DependencyCounts::default() };
        record.is_absorbed = false;
    }

    /// All nodes of the iteration are settled: fails the group, looks for a claim, or starts the command that may make
    /// one. Cheap ways come first.
    pub fn end_iteration(&mut self, node: NodeIndex) {
        let Some((compiled, group)) = self.loop_group(node) else { return };
        let Some(progress) = self.state.group_progress(node).cloned() else { return };
        let progress = GroupProgress { feedback: None, ..progress };
        let iteration = progress.iteration;
        if let Some(failed) = self.unabsorbed_failures(&compiled.scope).into_iter().next() {
            let reason = format!("node {} failed: {}", failed.node, failed.reason);
            self.announce(GraphNotice::LoopFailed { node, iteration, reason: reason.clone() });
            self.fail_group(node, format!("iteration {iteration}: {reason}"));
            return;
        }
        let output = self.primary_output(&compiled.scope);
        let control = &group.control;
        let is_signalled = control.until.as_deref().is_some_and(|until| has_signal(output.text(), until));
        let has_only_checks = control.until.is_none() && control.until_bash.is_none() && !control.checks.is_empty();
        if is_signalled || has_only_checks {
            self.verify_claim(node, &progress, output, ProofLevel::Unverified);
        } else if control.until_bash.is_some() {
            let action = ActivityAction::RunUntilBash { iteration, output: output.clone() };
            self.judge(node, progress, GroupStage::RunningUntilBash { output }, action);
        } else {
            self.end_without_claim(node, progress, output);
        }
    }

    /// A completion is claimed: the checks decide about it, if there are any.
    fn verify_claim(&mut self, node: NodeIndex, progress: &GroupProgress, output: SharedOutput, proof: ProofLevel) {
        let Some((_, group)) = self.loop_group(node) else { return };
        if group.control.checks.is_empty() {
            self.end_with_claim(node, progress, output, proof);
            return;
        }
        let action = ActivityAction::VerifyGroup { iteration: progress.iteration, output: output.clone() };
        self.judge(node, progress.clone(), GroupStage::Verifying { output }, action);
    }

    fn judge(&mut self, node: NodeIndex, progress: GroupProgress, stage: GroupStage, action: ActivityAction) {
        self.start_judgement(node, progress, stage, Activity::first(action));
    }

    fn start_judgement(&mut self, node: NodeIndex, progress: GroupProgress, stage: GroupStage, work: Activity) {
        let activity = self.next_activity(node);
        self.set_state(node, NodeState::Repeating(GroupProgress { stage, ..progress }));
        self.activate(activity, work);
    }

    pub fn judge_iteration(&mut self, node: NodeIndex, progress: GroupProgress, result: ActivityResult) {
        if !self.is_live() {
            // The stored stage starts the judgement again when the run is resumed.
            return;
        }
        let verdict = match result {
            ActivityResult::Judged(verdict) => verdict,
            ActivityResult::Failed(failure) => IterationVerdict::CouldNotEvaluate { reason: failure.reason },
            ActivityResult::Completed(_)
            | ActivityResult::ItemsFound(_)
            | ActivityResult::ReachedGate(_)
            | ActivityResult::Stopped => {
                let reason = "internal error in ralph: the verdict is missing".to_string();
                IterationVerdict::CouldNotEvaluate { reason }
            }
        };
        match (progress.stage.clone(), verdict) {
            (_, IterationVerdict::CouldNotEvaluate { reason }) => self.end_unevaluated(node, progress, &reason),
            (GroupStage::RunningUntilBash { output }, IterationVerdict::Accepted { proof }) => {
                self.verify_claim(node, &progress, output, proof.min(ProofLevel::Checked));
            }
            (GroupStage::Verifying { output }, IterationVerdict::Accepted { proof }) => {
                self.end_with_claim(node, &progress, output, proof);
            }
            (
                GroupStage::RunningUntilBash { output } | GroupStage::Verifying { output },
                IterationVerdict::Rejected { feedback },
            ) => self.end_without_claim(node, GroupProgress { unevaluated: 0, feedback, ..progress }, output),
            (
                GroupStage::Working | GroupStage::AtGate(_),
                IterationVerdict::Accepted { .. } | IterationVerdict::Rejected { .. },
            ) => {}
        }
    }

    fn end_unevaluated(&mut self, node: NodeIndex, progress: GroupProgress, reason: &str) {
        let unevaluated = progress.unevaluated.saturating_add(1);
        if unevaluated >= MAX_UNEVALUATED {
            let reason = format!("{unevaluated} iterations in a row could not be evaluated: {reason}");
            self.announce(GraphNotice::LoopFailed { node, iteration: progress.iteration, reason: reason.clone() });
            self.fail_group(node, reason);
            return;
        }
        let output = match &progress.stage {
            GroupStage::RunningUntilBash { output } | GroupStage::Verifying { output } => output.clone(),
            GroupStage::Working | GroupStage::AtGate(_) => SharedOutput::default(),
        };
        let reason = format!("whether the work is done could not be evaluated: {reason}");
        let feedback = Some(RejectionFeedback::rejected_completion(reason, String::new()));
        self.end_without_claim(node, GroupProgress { unevaluated, feedback, ..progress }, output);
    }

    fn end_with_claim(&mut self, node: NodeIndex, progress: &GroupProgress, output: SharedOutput, proof: ProofLevel) {
        let Some((_, group)) = self.loop_group(node) else { return };
        let iteration = progress.iteration;
        if group.control.completes_without_person(!progress.user_input.is_empty()) {
            self.complete_group(node, iteration, output, proof);
        } else {
            self.ask_at_gate(node, progress.clone(), LoopGate { iteration, output, is_claimed: true, proof });
        }
    }

    fn end_without_claim(&mut self, node: NodeIndex, progress: GroupProgress, output: SharedOutput) {
        let Some((_, group)) = self.loop_group(node) else { return };
        if group.control.interactive {
            let iteration = progress.iteration;
            let gate = LoopGate { iteration, output, is_claimed: false, proof: ProofLevel::Unverified };
            self.ask_at_gate(node, progress, gate);
        } else {
            self.next_iteration(node, &progress, output, String::new());
        }
    }

    fn ask_at_gate(&mut self, node: NodeIndex, progress: GroupProgress, gate: LoopGate) {
        let activity = self.next_activity(node);
        let stage = GroupStage::AtGate(gate.clone());
        self.set_state(node, NodeState::Repeating(GroupProgress { stage, ..progress }));
        self.push_effect(GraphEffect::AskPerson { activity, question: PersonQuestion::Gate(gate) });
    }

    /// Starts the next iteration, or fails the group at its limit.
    pub fn next_iteration(
        &mut self,
        node: NodeIndex,
        progress: &GroupProgress,
        previous_output: SharedOutput,
        user_input: String,
    ) {
        let Some((_, group)) = self.loop_group(node) else { return };
        let LoopControl { max_iterations, until, .. } = &group.control;
        if progress.iteration >= *max_iterations {
            let reason = messages::max_iterations_reached(*max_iterations, until.as_deref());
            self.announce(GraphNotice::LoopIncomplete { node, reason: reason.clone() });
            self.fail_group(node, reason);
            return;
        }
        let iteration = progress.iteration.saturating_add(1);
        let stage = GroupStage::Working;
        let next = GroupProgress { iteration, user_input, previous_output, stage, ..progress.clone() };
        self.begin_iteration(node, next);
    }

    pub fn complete_group(&mut self, node: NodeIndex, iterations: u32, output: SharedOutput, proof: ProofLevel) {
        self.announce(GraphNotice::LoopCompleted { node, iterations });
        self.state.unsettled_in_group.remove(&node);
        self.settle(node, NodeOutcome::Completed { output, proof: Some(proof) });
    }

    fn fail_group(&mut self, node: NodeIndex, reason: String) {
        self.state.unsettled_in_group.remove(&node);
        self.fail(node, NodeFailure { reason, kind: FailureKind::Permanent, child_outcome: None });
    }

    /// Continues a group of a restored run where it was.
    pub fn resume_group(&mut self, node: NodeIndex, progress: GroupProgress) {
        let iteration = progress.iteration;
        let (stage, action) = match progress.stage.clone() {
            GroupStage::Working => {
                if self.state.unsettled_in_group.get(&node) == Some(&0) {
                    self.finished_groups.push_back(node);
                }
                return;
            }
            GroupStage::AtGate(gate) => return self.ask_again(node, PersonQuestion::Gate(gate)),
            GroupStage::RunningUntilBash { output } => (
                GroupStage::RunningUntilBash { output: output.clone() },
                ActivityAction::RunUntilBash { iteration, output },
            ),
            GroupStage::Verifying { output } => {
                (GroupStage::Verifying { output: output.clone() }, ActivityAction::VerifyGroup { iteration, output })
            }
        };
        self.start_judgement(node, progress, stage, Activity::first(action).recover());
    }

    fn loop_group(&self, node: NodeIndex) -> Option<(&'a CompiledNode, &'a LoopGroupNode)> {
        let compiled = self.compiled(node)?;
        if let NodeKind::LoopGroup(group) = &compiled.definition.kind { Some((compiled, group)) } else { None }
    }
}

/// Returns whether the text gives the signal: as a tag, or as a separate line.
fn has_signal(text: &str, until: &str) -> bool {
    let Ok(promise) = Promise::try_from(until.to_string()) else { return false };
    let rules = ClaimRules {
        plain: PlainLinePolicy::Accepted,
        contradictions: ContradictionSearch::Off,
        ..ClaimRules::new(promise)
    };
    let mut finder = ClaimFinder::new(rules, "");
    finder.handle_event(TranscriptEvent::AgentText { message: 0, text });
    finder.finish().claim.is_made()
}
