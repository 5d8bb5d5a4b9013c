//! Tests of stored workflow runs.
use ralph_core::event::UnixMillis;

use super::answers::NewWorkflowAnswer;
use super::record_workflow::{NewWorkflowRun, WorkflowNodeUpdate, WorkflowRunUpdate, WorkflowStep};
use crate::{FIRST_FENCE, OpenMode, Store, StoreError, WorkflowNodeKey};

const RUNNING: WorkflowRunUpdate<'_> = WorkflowRunUpdate {
    status: "running",
    reason: None,
    exit_code: None,
    step_index: 0,
    metadata: "{}",
    has_ended: false,
};

const STEP: WorkflowStep<'_> = WorkflowStep {
    run: "w",
    fence: FIRST_FENCE,
    first_seq: 1,
    at: UnixMillis(5),
    events: &[],
    nodes: &[],
    update: RUNNING,
    taken_answers: &[],
};

const NODE: WorkflowNodeUpdate<'_> = node_update("a");

const fn node_update(node: &str) -> WorkflowNodeUpdate<'_> {
    let key = WorkflowNodeKey { node, generation: 0, item: None };
    WorkflowNodeUpdate { key, status: "running", state: "{}", has_started: true, has_ended: false }
}

async fn open_with_run(folder: &tempfile::TempDir) -> Store {
    let store = Store::open(folder.path(), OpenMode::Create).await.unwrap().unwrap();
    let new = NewWorkflowRun {
        workflow: "build",
        message: "go",
        spec: "{}",
        owner: "{\"pid\":1}",
        parent: None,
        rerun_of: None,
    };
    let events = ["{\"event\":\"workflow.started\"}".to_owned()];
    store.insert_workflow_run(&new, &WorkflowStep { events: &events, ..STEP }).await.unwrap();
    store
}

// spec: W7, L13
#[tokio::test]
async fn a_step_stores_its_events_and_only_the_nodes_that_changed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_with_run(&folder).await;
    let events = ["{\"event\":\"node.started\"}".to_owned()];
    let nodes = [NODE, node_update("b")];
    store.record_workflow_step(&WorkflowStep { first_seq: 2, events: &events, nodes: &nodes, ..STEP }).await.unwrap();
    let long = "x".repeat(1 << 20);
    let ended = [WorkflowNodeUpdate { status: "completed", state: &long, has_ended: true, ..NODE }];
    store.record_workflow_step(&WorkflowStep { first_seq: 3, nodes: &ended, at: UnixMillis(6), ..STEP }).await.unwrap();
    let stored = store.nodes_of_workflow_run("w").await.unwrap();
    let read: Vec<_> = stored.iter().map(|node| (node.node.as_str(), node.status.as_str())).collect();
    assert_eq!(read, [("a", "completed"), ("b", "running")]);
    assert_eq!(stored[0].state, long, "whole");
    assert_eq!((stored[0].started_at, stored[0].ended_at), (Some(5), Some(6)));
    let seqs: Vec<_> = store.workflow_events_after("w", 0, 10).await.unwrap().iter().map(|event| event.seq).collect();
    assert_eq!(seqs, [1, 2]);
}

// spec: L13
#[tokio::test]
async fn a_driver_with_an_old_fence_writes_nothing_to_a_workflow_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_with_run(&folder).await;
    let fence = store.take_over_workflow_run("w", "{\"pid\":2}").await.unwrap();
    let refused = store.record_workflow_step(&WorkflowStep { first_seq: 2, nodes: &[NODE], ..STEP }).await;
    assert!(
        matches!(&refused, Err(StoreError::TakenOver { owner: Some(owner), .. }) if owner.contains('2')),
        "{refused:?}"
    );
    assert!(store.nodes_of_workflow_run("w").await.unwrap().is_empty());
    store.record_workflow_step(&WorkflowStep { first_seq: 2, fence, nodes: &[NODE], ..STEP }).await.unwrap();
    assert_eq!(store.nodes_of_workflow_run("w").await.unwrap().len(), 1);
}

// spec: W13
#[tokio::test]
async fn a_question_is_answered_once_and_not_after_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_with_run(&folder).await;
    let answer = NewWorkflowAnswer {
        run: "w",
        question: "gate#1",
        decision: "approve",
        text: None,
        person: "eva",
        at: UnixMillis(7),
    };
    assert!(store.answer_workflow_question(&answer).await.unwrap());
    let second = NewWorkflowAnswer { decision: "reject", ..answer };
    assert!(!store.answer_workflow_question(&second).await.unwrap());
    let taken = WorkflowStep { first_seq: 2, taken_answers: &["gate#1"], at: UnixMillis(9), ..STEP };
    store.record_workflow_step(&taken).await.unwrap();
    let stored = store.workflow_answers("w").await.unwrap();
    assert_eq!((stored[0].decision.as_str(), stored[0].taken_at), ("approve", Some(9)));
    let end = WorkflowRunUpdate { status: "completed", exit_code: Some(0), has_ended: true, ..RUNNING };
    store.record_workflow_step(&WorkflowStep { first_seq: 2, update: end, ..STEP }).await.unwrap();
    assert!(!store.answer_workflow_question(&NewWorkflowAnswer { question: "gate#2", ..answer }).await.unwrap());
}

// fault: 59
#[tokio::test]
async fn a_missing_event_of_a_workflow_run_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = open_with_run(&folder).await;
    let events = ["{}".to_owned()];
    store.record_workflow_step(&WorkflowStep { first_seq: 3, events: &events, ..STEP }).await.unwrap();
    let gap = store.workflow_events_after("w", 0, 10).await.unwrap_err().to_string();
    assert!(gap.contains("damaged"), "{gap}");
}
