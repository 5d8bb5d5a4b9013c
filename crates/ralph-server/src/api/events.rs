//! Reads the journals of runs and workflow runs, page by page.
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use ralph_app::error::AppResult;
use ralph_app::run::{FoundRun, find_run};
use ralph_app::view::{event_json_line, timestamp_json};
use ralph_app::workflow_runs::{FoundWorkflowRun, find_workflow_run};
use ralph_store::WorkflowEventRow;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{ApiResult, JsonAnswer};
use super::parameters::{QueryValues, RequestedId, page_size};
use super::use_case::run_use_case;
use crate::context::SharedContext;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/api/runs/{id}/events", get(read_run_events))
        .route("/api/workflow-runs/{id}/events", get(read_workflow_events))
}

#[derive(Deserialize)]
struct EventsQuery {
    after: Option<u32>,
    limit: Option<u32>,
}

async fn read_run_events(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    QueryValues(query): QueryValues<EventsQuery>,
) -> ApiResult {
    let limit = page_size(query.limit)?;
    let loaded = run_use_case(&context, async move |context| {
        let FoundRun { store, run } = find_run(&context.project, Some(&id)).await?;
        let rows = store.events_after(&run.id, query.after.unwrap_or(0).into(), limit).await?;
        store.close().await;
        let events: Vec<Value> = rows.iter().map(|row| parse_line(&event_json_line(&run.id, row))).collect();
        Ok(events_json(&run.id, &events, run.ended_at.is_some()))
    });
    Ok(JsonAnswer::ok(loaded.await?))
}

async fn read_workflow_events(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    QueryValues(query): QueryValues<EventsQuery>,
) -> ApiResult {
    let limit = page_size(query.limit)?;
    let loaded = run_use_case(&context, async move |context| -> AppResult<Value> {
        let FoundWorkflowRun { store, run } = find_workflow_run(&context.project, Some(&id)).await?;
        let rows = store.workflow_events_after(&run.id, query.after.unwrap_or(0).into(), limit).await?;
        store.close().await;
        let events: Vec<Value> = rows.iter().map(|row| workflow_event_json(&run.id, row)).collect();
        Ok(events_json(&run.id, &events, run.ended_at.is_some()))
    });
    Ok(JsonAnswer::ok(loaded.await?))
}

fn events_json(run: &str, events: &[Value], has_ended: bool) -> Value {
    let last = events.last().map(|event| event["seq"].clone());
    json!({ "run": run, "events": events, "last_seq": last, "run_has_ended": has_ended })
}

fn parse_line(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_default()
}

/// Returns an event of a workflow run with its position in the journal.
pub(super) fn workflow_event_json(run: &str, row: &WorkflowEventRow) -> Value {
    let mut event = parse_line(&row.body);
    if let Some(fields) = event.as_object_mut() {
        fields.insert("run".to_owned(), json!(run));
        fields.insert("seq".to_owned(), json!(row.seq));
        fields.insert("at".to_owned(), timestamp_json(row.at));
    }
    event
}
