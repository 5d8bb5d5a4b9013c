//! Reads the workflows that can be started.
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use ralph_app::workflow_runs::workflow_error;
use ralph_app::workflows::graph::{draw_svg, list_rows};
use ralph_app::workflows::{WorkflowCatalog, find_triggers};
use serde_json::{Value, json};

use super::answer::{ApiResult, JsonAnswer};
use super::parameters::RequestedId;
use super::use_case::run_use_case;
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/api/workflows", get(read_workflows))
        .route("/api/workflows/{name}", get(read_workflow))
        .route("/api/workflows/{name}/graph.svg", get(read_graph))
}

async fn read_workflows(State(context): State<SharedContext>) -> ApiResult {
    let loaded = run_use_case(&context, async |context| {
        let catalog = WorkflowCatalog::open(Some(&context.project));
        let results = catalog.load_entries(catalog.requested_entries());
        let listed = catalog.entries().iter().zip(&results).filter(|(entry, _)| entry.replaced_by.is_none());
        Ok(listed.map(|(entry, loaded)| entry.to_json(loaded)).collect::<Vec<Value>>())
    });
    Ok(JsonAnswer::ok(json!({ "workflows": loaded.await? })))
}

async fn read_workflow(State(context): State<SharedContext>, RequestedId(name): RequestedId) -> ApiResult {
    let loaded = run_use_case(&context, async move |context| {
        let catalog = WorkflowCatalog::open(Some(&context.project));
        let found = catalog.find(&name).map_err(|error| workflow_error(&error))?;
        let workflow = &found.loaded.workflow;
        Ok(json!({
            "name": workflow.name,
            "origin": found.entry.origin,
            "file": found.entry.path,
            "workflow": workflow,
            "triggers": find_triggers(&workflow.description),
            "notes": found.loaded.notes,
            "graph": list_rows(workflow),
        }))
    });
    Ok(JsonAnswer::ok(loaded.await?))
}

async fn read_graph(State(context): State<SharedContext>, RequestedId(name): RequestedId) -> Result<Response, Problem> {
    let drawn = run_use_case(&context, async move |context| {
        let catalog = WorkflowCatalog::open(Some(&context.project));
        let found = catalog.find(&name).map_err(|error| workflow_error(&error))?;
        Ok(draw_svg(&found.loaded.workflow))
    });
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"))], drawn.await?).into_response())
}
