//! Orders that only tasks have: retry, approve and land, and the text that an approval is about.
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use ralph_app::control::retry_task;
use ralph_app::interaction::NoInteraction;
use ralph_app::landing::{LandingEnd, land_tasks};
use ralph_app::review::{TaskTerms, approve_seen_task};
use ralph_app::view::land_report_json;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::run_orders::{EmptyOrder, lock_target};
use crate::api::answer::{ApiResult, JsonAnswer};
use crate::api::parameters::{JsonBody, RequestedId};
use crate::api::use_case::run_use_case;
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/api/tasks/{id}/retry", post(retry))
        .route("/api/tasks/{id}/approval", get(read_approval))
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

async fn read_approval(State(context): State<SharedContext>, RequestedId(id): RequestedId) -> ApiResult {
    let terms = run_use_case(&context, async move |context| {
        let terms = TaskTerms::load(&context.project, &id).await?;
        Ok(json!({ "task": id, "text": terms.shown.text, "seen": terms.shown.digest }))
    });
    Ok(JsonAnswer::ok(terms.await?))
}

/// An approval of a text. It counts for this text only.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalOrder {
    /// The value of `seen` that was read with the text. If the text has changed since, nothing is approved.
    pub seen: String,
}

async fn approve(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<ApprovalOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let approved = run_use_case(&context, async move |context| {
        approve_seen_task(&context.project, &id, &order.seen).await?;
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
