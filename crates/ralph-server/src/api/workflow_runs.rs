//! Reads workflow runs.
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use ralph_app::view::{workflow_run_json, workflow_view_json};
use ralph_app::workflow_runs::{
    FoundWorkflowRun, ListedWorkflowRun, WorkflowRunView, find_workflow_run, load_workflow_run_page,
};
use serde_json::{Value, json};

use super::answer::{ApiResult, JsonAnswer};
use super::parameters::{PageQuery, QueryValues, RequestedId, page_size};
use super::use_case::run_use_case;
use crate::context::SharedContext;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new().route("/api/workflow-runs/{id}", get(read_workflow_run))
}

pub(super) async fn list_workflow_runs(
    State(context): State<SharedContext>,
    QueryValues(query): QueryValues<PageQuery>,
) -> ApiResult {
    let limit = page_size(query.limit)?;
    let loaded = run_use_case(&context, async move |context| {
        load_workflow_run_page(&context.project, query.before.as_deref(), limit).await
    });
    let page = loaded.await?;
    let runs: Vec<Value> = page.runs.iter().map(listed_run_json).collect();
    Ok(JsonAnswer::ok(json!({ "workflow_runs": runs, "next": page.next })))
}

fn listed_run_json(listed: &ListedWorkflowRun) -> Value {
    let mut object = workflow_run_json(&listed.run);
    if let Some(fields) = object.as_object_mut() {
        fields.insert("active_nodes".to_owned(), json!(listed.active_nodes));
    }
    object
}

async fn read_workflow_run(State(context): State<SharedContext>, RequestedId(id): RequestedId) -> ApiResult {
    let loaded = run_use_case(&context, async move |context| {
        let FoundWorkflowRun { store, run } = find_workflow_run(&context.project, Some(&id)).await?;
        let reruns = store.reruns_of_workflow_run(&run.id).await?;
        let view = WorkflowRunView::load(&context.project, &store, run).await?;
        store.close().await;
        let reruns: Vec<&str> = reruns.iter().map(|run| run.id.as_str()).collect();
        Ok(workflow_view_json(&view, &reruns))
    });
    Ok(JsonAnswer::ok(loaded.await?))
}
