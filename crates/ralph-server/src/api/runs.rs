//! Reads runs: the list, one run, its iterations, prompts, log, diff, explanation and receipt.
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use ralph_app::error::AppError;
use ralph_app::maintenance::{DiffDetail, DiffEnd, diff_run};
use ralph_app::run::{FoundRun, ListedRun, RunPageRequest, find_run, load_run_page, load_run_view, load_sent_prompt};
use ralph_app::why::explain_decision;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{ApiResult, JsonAnswer};
use super::log::load_log;
use super::parameters::{QueryValues, RequestedId, RequestedIteration, page_size};
use super::use_case::run_use_case;
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/api/runs/{id}", get(read_run))
        .route("/api/runs/{id}/iterations/{iteration}", get(read_iteration))
        .route("/api/runs/{id}/iterations/{iteration}/prompt", get(read_prompt))
        .route("/api/runs/{id}/log", get(read_log))
        .route("/api/runs/{id}/diff", get(read_diff))
        .route("/api/runs/{id}/why", get(read_explanation))
        .route("/api/tasks/{id}/why", get(read_explanation))
        .route("/api/runs/{id}/receipt", get(read_receipt))
}

#[derive(Deserialize)]
pub(super) struct RunListQuery {
    limit: Option<u32>,
    before: Option<String>,
    status: Option<String>,
    kind: Option<String>,
    verdict: Option<String>,
    method: Option<String>,
}

pub(super) async fn list_runs(
    State(context): State<SharedContext>,
    QueryValues(query): QueryValues<RunListQuery>,
) -> ApiResult {
    let RunListQuery { limit, before, status, kind, verdict, method } = query;
    let limit = page_size(limit)?;
    let request = RunPageRequest { limit, before, status, kind, verdict, method, ..RunPageRequest::default() };
    let page = run_use_case(&context, async move |context| load_run_page(&context.project, &request).await).await?;
    let runs: Vec<Value> = page.runs.iter().map(ListedRun::to_json).collect();
    Ok(JsonAnswer::ok(json!({ "runs": runs, "next": page.next })))
}

async fn load_run_json(context: &SharedContext, id: String) -> Result<Value, Problem> {
    run_use_case(context, async move |context| Ok(load_run_view(&context.project, Some(&id)).await?.to_json())).await
}

async fn read_run(State(context): State<SharedContext>, RequestedId(id): RequestedId) -> ApiResult {
    Ok(JsonAnswer::ok(load_run_json(&context, id).await?))
}

async fn read_iteration(State(context): State<SharedContext>, wanted: RequestedIteration) -> ApiResult {
    let run = load_run_json(&context, wanted.id).await?;
    let iterations = run["iterations"].as_array().into_iter().flatten();
    match iterations.into_iter().find(|iteration| iteration["number"] == wanted.iteration) {
        Some(iteration) => Ok(JsonAnswer::ok(json!({ "run": run["id"], "iteration": iteration }))),
        None => Err(no_iteration(wanted.iteration)),
    }
}

fn no_iteration(number: u32) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("the run has no iteration {number}"))
}

async fn read_prompt(State(context): State<SharedContext>, wanted: RequestedIteration) -> ApiResult {
    let loaded = run_use_case(&context, async move |context| {
        load_sent_prompt(&context.project, Some(&wanted.id), Some(wanted.iteration)).await
    });
    let prompt = loaded.await?;
    Ok(JsonAnswer::ok(json!({
        "run": prompt.run_id, "iteration": prompt.iteration, "attempt": prompt.attempt, "text": prompt.text,
    })))
}

#[derive(Deserialize)]
struct IterationQuery {
    iteration: Option<u32>,
}

async fn read_log(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    QueryValues(query): QueryValues<IterationQuery>,
) -> ApiResult {
    let loaded = run_use_case(&context, async move |context| load_log(&context.project, &id, query.iteration).await);
    Ok(JsonAnswer::ok(loaded.await?))
}

async fn read_diff(State(context): State<SharedContext>, RequestedId(id): RequestedId) -> ApiResult {
    let loaded =
        run_use_case(&context, async move |context| diff_run(&context.project, Some(&id), DiffDetail::Full).await);
    let diff = loaded.await?;
    Ok(JsonAnswer::ok(json!({
        "run": diff.run_id,
        "until": match diff.end { DiffEnd::RunEnd => "run_end", DiffEnd::Now => "now" },
        "text": diff.text,
    })))
}

async fn read_explanation(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    QueryValues(query): QueryValues<IterationQuery>,
) -> ApiResult {
    let loaded = run_use_case(&context, async move |context| {
        explain_decision(&context.project, Some(&id), query.iteration).await
    });
    Ok(JsonAnswer::ok(loaded.await?.to_json()))
}

async fn read_receipt(State(context): State<SharedContext>, RequestedId(id): RequestedId) -> ApiResult {
    let loaded = run_use_case(&context, async move |context| {
        let FoundRun { store, run } = find_run(&context.project, Some(&id)).await?;
        let receipt = store.receipt_of_run(&run.id).await?;
        store.close().await;
        let receipt = receipt.ok_or_else(|| AppError::not_found(format!("run {} has no receipt", run.id)))?;
        let body: Value = serde_json::from_str(&receipt.body).map_err(|error| AppError::internal(&error))?;
        Ok(json!({ "run": run.id, "verified": receipt.verified, "sha256": receipt.sha256, "receipt": body }))
    });
    Ok(JsonAnswer::ok(loaded.await?))
}
