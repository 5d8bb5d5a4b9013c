//! The driver of one workflow run: one `select!` that makes events of what happens, the graph that decides, the journal
//! that records, and the activities that are started and stopped.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ralph_core::event::StopSignal;
use ralph_core::outcome::{Outcome, RunEnd, exit_code};
use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::graph::{
    ActivityId, ActivityResult, COMPLETE_DECISION, FailureKind, Graph, GraphEffect, GraphEnd, GraphEvent, GraphNotice,
    GraphState, LoopGate, NodeFailure, NodeIndex, NodeSuccess, PersonQuestion, advance,
};
use ralph_core::workflow::messages;
use ralph_engine::run_driver::{Clock, ControlEvent, ControlInput, SignalRequest, stop_own_process, suspend_channel};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::activity::ActivityRunner;
use super::end_text::describe_end;
use super::fact::WorkflowFact;
use super::journal::{StepContents, WorkflowJournal};
use super::loop_receipt::{LoopCompletions, ReceiptContext, gate_iteration, unclaimed_channel};
use super::metadata::RunMetadata;
use super::parking::ParentLink;
use super::questions::{OpenQuestion, QuestionText, describe_cancellation, describe_question, read_answer};
use super::ready::{activity_label, prepare_activity};
use super::services::{NodeProgress, RunServices};
use crate::error::AppResult;

/// The reason of an end by a signal; the run can be resumed.
const INTERRUPTED_REASON: &str = "ralph was stopped";

/// The file that a run with `evidence_policy.required` must leave in its artifacts folder.
const EVIDENCE_FILE: &str = "evidence.json";

/// How the driving of a workflow run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowEnd {
    /// `completed`, `failed`, `cancelled`, `over_budget`, `interrupted` or `waiting`.
    pub status: &'static str,
    pub reason: String,
    pub exit_code: u8,
    /// The output of the run, if it has completed.
    pub output: Option<String>,
    /// How well the work is proven, if the run has completed.
    pub proof: Option<ProofLevel>,
    /// The lowest proof level among its loops, checks and child runs that have completed, if there are any.
    pub node_proof: Option<ProofLevel>,
    /// The questions that wait for a person.
    pub questions: Vec<OpenQuestion>,
}

/// A message from an activity or a timer.
pub(super) enum DriverInput {
    Ended { activity: ActivityId, result: Box<ActivityResult> },
    RetryDelayOver { activity: ActivityId },
}

pub struct WorkflowDriver {
    pub graph: Arc<Graph>,
    pub state: GraphState,
    pub services: Arc<RunServices>,
    pub journal: WorkflowJournal,
    pub control: ControlInput,
    pub progress: UnboundedReceiver<Box<NodeProgress>>,
    /// The questions that are stored as asked.
    asked: BTreeSet<String>,
    pub(super) active: BTreeMap<ActivityId, UnboundedSender<ControlEvent>>,
    pub(super) questions: BTreeMap<ActivityId, OpenQuestion>,
    /// The questions of child runs that wait.
    pub(super) child_questions: BTreeMap<ActivityId, Vec<OpenQuestion>>,
    /// The child runs that pause, and of which nothing runs any more.
    pub(super) holding_children: BTreeSet<ActivityId>,
    /// The run that has started this one, if one has.
    pub(super) parent: Option<ParentLink>,
    /// Whether the parent knows that this run waits for a person.
    pub(super) is_parked: bool,
    /// Whether the parent knows that this run has nothing running, because it pauses.
    pub(super) is_holding: bool,
    /// The activities that are not started because the run pauses.
    pub(super) held: Vec<ActivityId>,
    sender: UnboundedSender<DriverInput>,
    pub(super) inputs: UnboundedReceiver<DriverInput>,
    pub(super) events: VecDeque<GraphEvent>,
    stop_signal: Option<StopSignal>,
    end: Option<GraphEnd>,
    /// Messages of activities that are stored with the next step.
    pub(super) messages: Vec<WorkflowFact>,
    pub(super) taken_answers: Vec<String>,
    metadata: RunMetadata,
    completions: LoopCompletions,
}

/// The parts of a driver that its caller makes.
pub struct DriverParts {
    pub graph: Arc<Graph>,
    pub state: GraphState,
    pub services: Arc<RunServices>,
    pub journal: WorkflowJournal,
    pub control: ControlInput,
    pub progress: UnboundedReceiver<Box<NodeProgress>>,
    /// The questions that an earlier process has asked.
    pub asked: BTreeSet<String>,
    /// The run that has started this one, if one has.
    pub parent: Option<ParentLink>,
}

impl WorkflowDriver {
    #[must_use]
    pub fn new(parts: DriverParts) -> Self {
        let DriverParts { graph, state, services, journal, control, progress, asked, parent } = parts;
        let (sender, inputs) = unbounded_channel();
        let metadata = RunMetadata::parse(&journal.status.metadata);
        Self {
            graph,
            state,
            services,
            journal,
            control,
            progress,
            asked,
            active: BTreeMap::new(),
            questions: BTreeMap::new(),
            child_questions: BTreeMap::new(),
            holding_children: BTreeSet::new(),
            parent,
            is_parked: false,
            is_holding: false,
            held: Vec::new(),
            sender,
            inputs,
            events: VecDeque::from([GraphEvent::Started]),
            stop_signal: None,
            end: None,
            messages: Vec::new(),
            taken_answers: Vec::new(),
            metadata,
            completions: LoopCompletions::default(),
        }
    }

    /// Drives the run until it has ended, waits for a person, or is stopped. The futures between two waits are
    /// boxed: thousands of runs may wait in a process.
    pub async fn run(mut self: Box<Self>) -> AppResult<WorkflowEnd> {
        Box::pin(self.queue_stored_answers()).await?;
        loop {
            while let Some(event) = self.events.pop_front() {
                Box::pin(self.apply_event(event)).await?;
            }
            if let Some(end) = self.end.take() {
                return Box::pin(self.finish(&end)).await;
            }
            Box::pin(self.update_parking()).await?;
            if !self.events.is_empty() {
                continue;
            }
            if self.ends_waiting() {
                return Box::pin(self.end_waiting()).await;
            }
            tokio::select! {
                Some(input) = self.inputs.recv() => self.handle_input(input),
                Some(progress) = self.progress.recv() => Box::pin(self.handle_progress(*progress)).await?,
                event = self.control.next_event() => Box::pin(self.handle_control(event)).await?,
            }
        }
    }

    fn handle_input(&mut self, input: DriverInput) {
        match input {
            DriverInput::Ended { activity, result } => {
                self.active.remove(&activity);
                // The announcement of the activity is stored before its end.
                while let Ok(progress) = self.progress.try_recv() {
                    self.note_progress(*progress);
                }
                self.child_questions.remove(&activity);
                if let ActivityResult::Completed(NodeSuccess { output, .. })
                | ActivityResult::ReachedGate(LoopGate { output, .. }) = result.as_ref()
                {
                    self.metadata.set_last_output(output.text());
                }
                let is_completed = matches!(*result, ActivityResult::Completed(_));
                let ended = GraphEvent::ActivityEnded { activity, result: *result };
                let exhausted = self.services.host.budget.is_exhausted().then(|| GraphEvent::BudgetExhausted {
                    reason: "the cost limit of the workflow run is reached".to_owned(),
                });
                // A node that has completed may be the last one. A node that stopped at the limit has not failed.
                match is_completed {
                    true => self.events.extend(std::iter::once(ended).chain(exhausted)),
                    false => self.events.extend(exhausted.into_iter().chain([ended])),
                }
            }
            DriverInput::RetryDelayOver { activity } => {
                self.events.push_back(GraphEvent::RetryDelayOver { activity });
            }
        }
    }

    async fn handle_progress(&mut self, progress: NodeProgress) -> AppResult<()> {
        self.note_progress(progress);
        self.record(Vec::new()).await
    }

    fn note_progress(&mut self, progress: NodeProgress) {
        let text = match progress {
            NodeProgress::Message { text } => text,
            NodeProgress::Child { activity, event } => return self.note_child_event(activity, event),
            NodeProgress::LoopClaimed { node, claim } => return self.completions.note_claim(node, claim),
            NodeProgress::LoopVerified { node, checks } => return self.completions.note_checks(node, checks),
            NodeProgress::Judged { activity, cost_micros } => {
                return self.messages.push(WorkflowFact::Judged { activity, cost_micros });
            }
            NodeProgress::Iteration { iteration, max_iterations } => {
                self.metadata.set_iteration(iteration, max_iterations);
                messages::iteration_started(iteration, max_iterations)
            }
            NodeProgress::Output { text } => return self.metadata.set_last_output(&text),
        };
        self.messages.push(WorkflowFact::Message { text });
    }

    async fn handle_control(&mut self, event: ControlEvent) -> AppResult<()> {
        match event {
            // It has nothing to stop, and waits for the next process.
            ControlEvent::Signal(SignalRequest::Stop(_)) if self.is_parked => self.leave_parent(),
            ControlEvent::Signal(SignalRequest::Stop(signal)) => {
                if self.stop_signal.replace(signal).is_some() {
                    // The second signal kills at once what the first asked to stop.
                    self.forward(|| ControlEvent::Signal(SignalRequest::Stop(signal)));
                }
                self.interrupt(INTERRUPTED_REASON);
            }
            ControlEvent::Signal(SignalRequest::Suspend) => self.suspend().await,
            ControlEvent::Suspend(request) => {
                self.forward(|| ControlEvent::Suspend(request.clone()));
                request.clone().wait_for_continue().await;
            }
            ControlEvent::Signal(SignalRequest::CheckOrders) => self.check_orders().await?,
            ControlEvent::LeaseLost => {
                self.interrupt(INTERRUPTED_REASON);
            }
        }
        Ok(())
    }

    async fn suspend(&self) {
        if self.active.is_empty() {
            return stop_own_process();
        }
        let (request, suspension) = suspend_channel();
        self.forward(|| ControlEvent::Suspend(request.clone()));
        drop(request);
        suspension.stop_process().await;
    }

    pub(super) fn forward(&self, event: impl Fn() -> ControlEvent) {
        for control in self.active.values() {
            // An activity that has just ended receives nothing.
            let _ = control.send(event());
        }
    }

    /// Reads what people have ordered: answers, and the end of the run.
    async fn check_orders(&mut self) -> AppResult<()> {
        self.queue_stored_answers().await?;
        if self.services.host.store.is_workflow_cancel_requested(&self.services.run).await? {
            self.events.push_back(GraphEvent::CancelRequested { reason: RunEnd::cancelled_by_user().reason });
        }
        self.take_orders().await?;
        self.forward(|| ControlEvent::Signal(SignalRequest::CheckOrders));
        Ok(())
    }

    /// Makes events of the answers to the open questions.
    pub(super) async fn queue_stored_answers(&mut self) -> AppResult<()> {
        if self.questions.is_empty() {
            return Ok(());
        }
        let answers = self.services.host.store.workflow_answers(&self.services.run).await?;
        for answer in answers.into_iter().filter(|answer| answer.taken_at.is_none()) {
            let open = self.questions.iter().find(|(_, open)| open.name == answer.question);
            let Some((activity, open)) = open.map(|(activity, open)| (*activity, open.clone())) else { continue };
            self.questions.remove(&activity);
            if answer.decision == COMPLETE_DECISION {
                let iteration = self.state.node(activity.node).and_then(gate_iteration);
                self.completions.note_person(open.node.clone(), answer.person.clone(), iteration);
            }
            let text = answer.text.unwrap_or_default();
            self.messages.push(WorkflowFact::QuestionAnswered {
                node: open.node,
                question: answer.question.clone(),
                decision: answer.decision.clone(),
                text: text.clone(),
                person: answer.person,
            });
            self.taken_answers.push(answer.question);
            let answer = read_answer(&answer.decision, &text);
            self.events.push_back(GraphEvent::PersonAnswered { activity, answer });
        }
        Ok(())
    }

    /// Lets the graph decide, records the decision, and performs its effects.
    async fn apply_event(&mut self, event: GraphEvent) -> AppResult<()> {
        let effects = advance(&self.graph, &mut self.state, event);
        let mut facts = Vec::new();
        let mut requests = Vec::new();
        let mut has_asked = false;
        for effect in effects {
            match effect {
                GraphEffect::Record(fact) => facts.push(fact),
                GraphEffect::Announce(notice) => self.announce(&notice),
                // The questions of a step are stored with it.
                GraphEffect::AskPerson { activity, question } => {
                    self.open_question(activity, &question);
                    has_asked = true;
                }
                other => requests.push(other),
            }
        }
        let context = ReceiptContext {
            workflow_run: &self.services.run,
            workflow: &self.services.spec.workflow.name,
            at: Clock::wall_now(),
        };
        let channel_of_group = |node: &str| unclaimed_channel(&self.graph, node);
        self.messages.extend(self.completions.take_receipts(&facts, context, channel_of_group));
        self.record(facts).await?;
        for request in requests {
            self.perform(request);
        }
        if has_asked {
            self.queue_stored_answers().await?;
        }
        Ok(())
    }

    fn open_question(&mut self, activity: ActivityId, question: &PersonQuestion) {
        let QuestionText { text, decisions } =
            describe_question(&self.graph, &self.state, &self.services, activity.node, question);
        let node = self.key_of(activity.node);
        let name = activity_label(&node, activity);
        // A restored run asks its open questions again.
        if self.asked.insert(name.clone()) {
            self.messages.push(WorkflowFact::QuestionAsked {
                node: node.clone(),
                question: name.clone(),
                text: text.clone(),
                decisions: decisions.clone(),
            });
        }
        self.questions.insert(activity, OpenQuestion { run: self.services.run.clone(), name, node, text, decisions });
    }

    pub(super) async fn record(&mut self, graph_facts: Vec<ralph_core::workflow::graph::GraphFact>) -> AppResult<()> {
        let contents = StepContents {
            graph_facts,
            events: std::mem::take(&mut self.messages),
            taken_answers: std::mem::take(&mut self.taken_answers),
        };
        if contents.is_empty() {
            return Ok(());
        }
        self.journal.status.metadata = self.metadata.to_json();
        Ok(self.journal.record(contents).await?)
    }

    fn perform(&mut self, request: GraphEffect) {
        match request {
            // It is stored as running, so that the next process starts it.
            GraphEffect::Start { activity, .. } if self.services.host.is_pausing() => self.held.push(activity),
            GraphEffect::Start { activity, work } => self.start_activity(activity, &work),
            GraphEffect::Stop { activity } => {
                let signal = self.stop_signal.unwrap_or(StopSignal::Term);
                if let Some(control) = self.active.get(&activity) {
                    // An activity that has just ended receives nothing.
                    let _ = control.send(ControlEvent::Signal(SignalRequest::Stop(signal)));
                }
            }
            GraphEffect::StartTimer { activity, delay_ms } => {
                let sender = self.sender.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(delay_ms)).await;
                    let _ = sender.send(DriverInput::RetryDelayOver { activity });
                });
            }
            GraphEffect::RefuseAnswer { activity, reason } => {
                let node = self.key_of(activity.node);
                self.services.warn(&format!("{node}: {reason}"));
            }
            GraphEffect::Finish(end) => self.end = Some(end),
            // The phase of the graph says the same.
            GraphEffect::Park => {}
            GraphEffect::Record(_) | GraphEffect::Announce(_) | GraphEffect::AskPerson { .. } => {}
        }
    }

    fn start_activity(&mut self, activity: ActivityId, work: &ralph_core::workflow::graph::Activity) {
        let ready = prepare_activity(&self.graph, &self.state, &self.services, activity, work);
        let sender = self.sender.clone();
        let ready = match ready {
            Ok(ready) => Box::new(ready),
            Err(reason) => {
                let failure = NodeFailure { reason, kind: FailureKind::Permanent, child_outcome: None };
                let _ = sender.send(DriverInput::Ended { activity, result: Box::new(ActivityResult::Failed(failure)) });
                return;
            }
        };
        let (control, receiver) = unbounded_channel();
        self.active.insert(activity, control);
        let runner = ActivityRunner { services: Arc::clone(&self.services) };
        let work = tokio::spawn(async move { runner.run(ready, receiver).await });
        tokio::spawn(async move {
            let result = work.await.unwrap_or_else(|error| {
                let reason = format!("internal error in ralph: {error}");
                ActivityResult::Failed(NodeFailure { reason, kind: FailureKind::Permanent, child_outcome: None })
            });
            let _ = sender.send(DriverInput::Ended { activity, result: Box::new(result) });
        });
    }

    fn announce(&mut self, notice: &GraphNotice) {
        let text = match notice {
            GraphNotice::Step { number, total, .. } => messages::step_started(*number, *total),
            GraphNotice::Iteration { iteration, max_iterations, .. } => {
                self.metadata.set_iteration(*iteration, *max_iterations);
                messages::iteration_started(*iteration, *max_iterations)
            }
            GraphNotice::LoopCompleted { node, iterations } => {
                messages::loop_completed(&self.key_of(*node), *iterations)
            }
            GraphNotice::LoopFailed { iteration, reason, .. } => messages::loop_failed(*iteration, reason),
            GraphNotice::LoopIncomplete { node, reason } => messages::loop_incomplete(&self.key_of(*node), reason),
        };
        self.messages.push(WorkflowFact::Message { text });
    }

    fn key_of(&self, node: NodeIndex) -> String {
        self.graph.node(node).map(|node| node.key.clone()).unwrap_or_default()
    }

    async fn finish(mut self: Box<Self>, end: &GraphEnd) -> AppResult<WorkflowEnd> {
        let finished = self.describe_end(end);
        if finished.status != Outcome::Interrupted.as_str() {
            self.services.close_children(&finished.reason).await?;
        }
        self.metadata.set_proof(finished.node_proof);
        let status = &mut self.journal.status;
        status.status = finished.status;
        status.reason = Some(finished.reason.clone());
        status.exit_code = Some(finished.exit_code);
        status.has_ended = finished.status != Outcome::Interrupted.as_str();
        self.messages.push(WorkflowFact::Finished {
            status: finished.status.to_owned(),
            reason: finished.reason.clone(),
            exit_code: finished.exit_code,
            output: finished.output.clone(),
            proof: finished.proof,
        });
        self.record(Vec::new()).await?;
        Ok(finished)
    }

    fn describe_end(&self, end: &GraphEnd) -> WorkflowEnd {
        let interrupted_code = match self.stop_signal {
            Some(StopSignal::Int) => exit_code::SIGINT,
            Some(StopSignal::Term | StopSignal::Hangup) | None => exit_code::SIGTERM,
        };
        let end = &describe_cancellation(&self.graph, &self.state, &self.services, end);
        let spec = &self.services.spec;
        let evidence = self.services.artifacts_folder().join(EVIDENCE_FILE);
        let lacks_evidence = spec.workflow.requires_evidence && !evidence.is_file();
        match describe_end(&spec.workflow, end, interrupted_code) {
            completed if completed.output.is_some() && lacks_evidence => WorkflowEnd {
                status: Outcome::Failed.as_str(),
                reason: format!(
                    "`evidence_policy.required`: all nodes have ended without $ARTIFACTS_DIR/{EVIDENCE_FILE}"
                ),
                exit_code: exit_code::NOT_COMPLETE,
                output: None,
                proof: None,
                node_proof: None,
                questions: Vec::new(),
            },
            end => end,
        }
    }
}
