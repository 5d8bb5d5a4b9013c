//! `workflow:` nodes and the items of a `fan_out`: another workflow as a separate run, in this process. Its output is the
//! output of the node.
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use ralph_agents::AgentEvent;
use ralph_core::outcome::Outcome;
use ralph_core::workflow::WorktreeUse;
use ralph_core::workflow::graph::{ActivityId, ActivityResult, FailureKind, NodeFailure, NodeSuccess};
use ralph_engine::run_driver::{ControlEvent, ControlInput, new_run_id};
use ralph_store::WorkflowRunRow;
use tokio::sync::mpsc::UnboundedReceiver;

use super::agent_node::describe;
use super::{ActivityRunner, ReadyActivity, failed};
use crate::error::{AppError, AppResult};
use crate::run::{WorktreeOutcome, kill_leftover_processes};
use crate::workflow_runs::driver::WorkflowEnd;
use crate::workflow_runs::fact::WorkflowFact;
use crate::workflow_runs::metadata::RunMetadata;
use crate::workflow_runs::observer::{EventSource, WorkflowObserver};
use crate::workflow_runs::opened_run::{
    DriveLinks, DrivenRun, GraphStart, OpenedRun, RunLocks, load_spec, take_run_lock,
};
use crate::workflow_runs::parking::ParentLink;
use crate::workflow_runs::services::ChildEvent;
use crate::workflow_runs::start::{FirstStep, insert_run, interrupted_end, started_fact};
use crate::workflow_runs::worktree::{set_up, worktree_name};

/// The inputs of a child run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildCall {
    /// The activity of the parent.
    pub activity: ActivityId,
    pub workflow: String,
    pub message: String,
    pub inputs: BTreeMap<String, String>,
    /// Whether the node asks for a separate work tree.
    pub own_worktree: bool,
    /// The node, the iteration of its group and the item, as the child run is stored with it.
    pub parent_node: String,
}

/// The treatment of the run that the same node has started before.
enum EarlierChild {
    /// There is none that counts.
    Absent,
    Ended(WorkflowRunRow),
    Open(WorkflowRunRow),
}

/// The run of a child, with its locks.
struct PreparedChild {
    opened: Box<OpenedRun>,
    _locks: RunLocks,
}

impl ActivityRunner {
    pub(super) async fn run_child(
        &self,
        ready: &ReadyActivity,
        call: &ChildCall,
        control: UnboundedReceiver<ControlEvent>,
    ) -> ActivityResult {
        // A child may have children: without a known type the compiler could not end.
        let driven: Pin<Box<dyn Future<Output = AppResult<WorkflowEnd>> + Send + '_>> =
            Box::pin(self.drive_child(ready, call, control));
        match driven.await {
            Err(error) => failed(describe(&error)),
            Ok(end) => self.child_result(ready, call, end),
        }
    }

    async fn drive_child(
        &self,
        ready: &ReadyActivity,
        call: &ChildCall,
        control: UnboundedReceiver<ControlEvent>,
    ) -> AppResult<WorkflowEnd> {
        let prepared = match Box::pin(self.find_earlier_child(ready, call)).await? {
            EarlierChild::Ended(row) => return Box::pin(self.load_end(&row)).await,
            EarlierChild::Open(row) => Box::pin(self.take_over_child(row)).await?,
            EarlierChild::Absent => Box::pin(self.create_child(ready, call)).await?,
        };
        let host = Arc::clone(&self.services.host);
        let run = prepared.opened.run.clone();
        let mut control = ControlInput::Channel(control);
        let worktree = prepared.opened.open_worktree(&host.settings)?;
        if let Some(assigned) = &worktree
            && let Some(signal) =
                Box::pin(set_up(assigned, &self.services.base_project, &run, &host.keeper, &mut control)).await?
        {
            return Ok(interrupted_end(signal));
        }
        let observer = Arc::new(ChildObserver {
            observer: Arc::clone(&self.services.observer),
            prefix: format!("{} > ", call.parent_node),
        });
        let parent = ParentLink { progress: self.services.progress.clone(), activity: call.activity };
        let links = DriveLinks { control, observer, parent: Some(parent) };
        let DrivenRun { end, worktree, .. } = prepared.opened.drive_graph(host, links, worktree).await?;
        self.report_worktree(ready, worktree)?;
        Ok(end)
    }

    /// Finds the run that this node has started before. A finished one is not started again, unless its node always runs
    /// or has other inputs now. A failed one continues at its failed nodes.
    async fn find_earlier_child(&self, ready: &ReadyActivity, call: &ChildCall) -> AppResult<EarlierChild> {
        let store = &self.services.host.store;
        let Some(row) = store.newest_child_workflow_run(&self.services.run, &call.parent_node).await? else {
            return Ok(EarlierChild::Absent);
        };
        let is_same_call = row.message == call.message && load_spec(store, &row.id).await?.inputs == call.inputs;
        Ok(match (row.ended_at, row.status.as_str()) {
            (None, _) => EarlierChild::Open(row),
            (Some(_), _) if ready.is_recovery => EarlierChild::Ended(row),
            (Some(_), _) if ready.definition.always_run || !is_same_call => EarlierChild::Absent,
            (Some(_), "completed") => EarlierChild::Ended(row),
            (Some(_), "failed") => EarlierChild::Open(row),
            (Some(_), _) => EarlierChild::Absent,
        })
    }

    async fn create_child(&self, ready: &ReadyActivity, call: &ChildCall) -> AppResult<PreparedChild> {
        let services = &self.services;
        let definition = services.spec.children.get(&call.workflow);
        let definition =
            definition.ok_or_else(|| AppError::preflight(format!("the workflow {} was not found", call.workflow)))?;
        let run = new_run_id();
        let mut spec = services.spec.child(definition, call.inputs.clone());
        if call.own_worktree || definition.workflow.worktree == WorktreeUse::Required {
            spec.worktree = Some(worktree_name(&run));
        }
        let locks = take_run_lock(&services.base_project, &run, None).await?;
        let started = started_fact(&spec, &call.message);
        let first = FirstStep {
            message: &call.message,
            owner: &locks.owner,
            started: &started,
            parent: Some((&services.run, &call.parent_node)),
            rerun_of: None,
        };
        insert_run(&services.host.store, &run, &spec, &first).await?;
        let parent = ParentLink { progress: services.progress.clone(), activity: call.activity };
        parent.send(ChildEvent::Started {
            node: ready.node.clone(),
            run: run.clone(),
            workflow: call.workflow.clone(),
        });
        let opened = OpenedRun {
            run,
            project: services.base_project.clone(),
            inherited: Some(services.project.clone()),
            message: call.message.clone(),
            spec,
            start: GraphStart::default(),
            first_event: started,
        };
        Ok(PreparedChild { opened: Box::new(opened), _locks: locks })
    }

    async fn take_over_child(&self, row: WorkflowRunRow) -> AppResult<PreparedChild> {
        let services = &self.services;
        let store = &services.host.store;
        let spec = load_spec(store, &row.id).await?;
        let locks = take_run_lock(&services.base_project, &row.id, None).await?;
        let fence = store.take_over_workflow_run(&row.id, &locks.owner.to_json()).await?;
        kill_leftover_processes(&row.id, services.host.person.as_ref());
        let (row, start) = GraphStart::load(store, &row.id, fence).await?;
        let opened = OpenedRun {
            run: row.id,
            project: services.base_project.clone(),
            inherited: Some(services.project.clone()),
            message: row.message,
            spec,
            start,
            first_event: WorkflowFact::Resumed,
        };
        Ok(PreparedChild { opened: Box::new(opened), _locks: locks })
    }

    /// Reads how a run has ended, from its last event.
    async fn load_end(&self, row: &WorkflowRunRow) -> AppResult<WorkflowEnd> {
        let events = self.services.host.store.workflow_events_after(&row.id, row.event_count - 1, 1).await?;
        let last = events.last().and_then(|event| serde_json::from_str(&event.body).ok());
        let Some(WorkflowFact::Finished { status, reason, exit_code, output, proof }) = last else {
            return Err(AppError::preflight(format!("workflow run {} has no end in its journal", row.id)));
        };
        Ok(WorkflowEnd {
            status: Outcome::parse(&status).unwrap_or(Outcome::Failed).as_str(),
            reason,
            exit_code,
            output,
            proof,
            node_proof: RunMetadata::parse(&row.metadata).proof(),
            questions: Vec::new(),
        })
    }

    fn child_result(&self, ready: &ReadyActivity, call: &ChildCall, end: WorkflowEnd) -> ActivityResult {
        let outcome = Outcome::parse(end.status);
        match (outcome, end.output) {
            (Some(Outcome::Completed), output) => {
                let output = output.unwrap_or_default();
                match call.activity.item {
                    None => self.finish_output(ready, output, end.node_proof),
                    Some(_) => ActivityResult::Completed(NodeSuccess { output: output.into(), proof: end.node_proof }),
                }
            }
            // It was stopped with this run, or waits for a person.
            (Some(Outcome::Interrupted) | None, _) => ActivityResult::Stopped,
            (Some(outcome), _) => ActivityResult::Failed(NodeFailure {
                reason: format!("workflow {} ended as {}: {}", call.workflow, outcome.as_str(), end.reason),
                kind: FailureKind::Permanent,
                child_outcome: Some(outcome),
            }),
        }
    }

    fn report_worktree(&self, ready: &ReadyActivity, worktree: Option<AppResult<WorktreeOutcome>>) -> AppResult<()> {
        match worktree.transpose()? {
            Some(WorktreeOutcome::Accepted { branch, .. }) => {
                self.services.announce(&format!("{}: the work is on the branch {branch}", ready.node));
            }
            Some(WorktreeOutcome::NotAccepted { branch, reason }) => {
                self.services.warn(&format!("{}: the branch {branch} was not moved: {reason}", ready.node));
            }
            Some(WorktreeOutcome::Unfinished { .. }) | None => {}
        }
        Ok(())
    }
}

/// Reports the progress of a child run with the node of its parent before each of its nodes.
struct ChildObserver {
    observer: Arc<dyn WorkflowObserver>,
    prefix: String,
}

impl WorkflowObserver for ChildObserver {
    fn on_fact(&self, source: EventSource<'_>, fact: &WorkflowFact) {
        let path = format!("{}{}", self.prefix, source.path);
        self.observer.on_fact(EventSource { run: source.run, path: &path }, fact);
    }

    fn on_agent_event(&self, node: &str, event: &AgentEvent) {
        self.observer.on_agent_event(&format!("{}{node}", self.prefix), event);
    }

    fn on_warning(&self, text: &str) {
        self.observer.on_warning(&format!("{}{text}", self.prefix));
    }
}
