//! Orders that only tasks have: retry, approve and land.
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use ralph_app::control::retry_task;
use ralph_app::error::AppError;
use ralph_app::interaction::NoInteraction;
use ralph_app::landing::{LandingEnd, land_tasks};
use ralph_app::tasks::{TaskSelection, approve_tasks, detect_author, find_pending_tasks};
use ralph_app::view::land_report_json;
use serde_json::json;

use super::run_orders::{EmptyOrder, lock_target};
use crate::api::answer::{ApiResult, JsonAnswer};
use crate::api::parameters::{JsonBody, RequestedId};
use crate::api::use_case::run_use_case;
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/api/tasks/{id}/retry", post(retry))
        .route("/api/tasks/{id}/approve", post(approve))
        .route("/api/tasks/{id}/land", post(land))
}

async fn retry(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(EmptyOrder {}): JsonBody<EmptyOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let retried = run_use_case(&context, async move |context| retry_task(&context.project, &id, &NoInteraction).await);
    Ok(JsonAnswer::ok(json!({ "result": "ready", "task": retried.await? })))
}

async fn approve(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(EmptyOrder {}): JsonBody<EmptyOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let approved = run_use_case(&context, async move |context| {
        let author = detect_author(&context.project);
        let selection = TaskSelection::Ids(vec![id.clone()]);
        let pending = find_pending_tasks(&context.project, &selection, author).await?;
        if pending.is_empty() {
            return Err(AppError::preflight(format!("{id} does not wait for approval")));
        }
        approve_tasks(&context.project, &pending, author).await?;
        Ok(id)
    });
    Ok(JsonAnswer::ok(json!({ "result": "approved", "task": approved.await? })))
}

async fn land(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(EmptyOrder {}): JsonBody<EmptyOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let landed = run_use_case(&context, async move |context| {
        let mut reports = Vec::new();
        let keeper = context.driver.keeper();
        let end = land_tasks(&context.project, std::slice::from_ref(&id), &keeper, &NoInteraction, |report| {
            reports.push(land_report_json(report));
        });
        let end = end.await?;
        Ok(LandedTask { end, report: reports.pop() })
    });
    let LandedTask { end, report } = landed.await?;
    match end {
        LandingEnd::AllLanded => Ok(JsonAnswer::ok(json!({ "result": "landed", "report": report }))),
        LandingEnd::ChecksFailed => {
            Err(Problem::new(StatusCode::CONFLICT, "the checks fail on the merged result; nothing was merged"))
        }
        LandingEnd::Stopped(_) => Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the server stops")),
    }
}

struct LandedTask {
    end: LandingEnd,
    report: Option<serde_json::Value>,
}
