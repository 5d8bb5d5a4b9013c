//! The commands and workflows of the project that a person must approve, and the order that approves them.
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use ralph_app::review::{CommandReview, approve_seen_commands};
use serde_json::json;

use super::task_orders::ApprovalOrder;
use crate::api::answer::{ApiResult, JsonAnswer};
use crate::api::parameters::JsonBody;
use crate::api::use_case::run_use_case;
use crate::context::SharedContext;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new().route("/api/commands", get(read_commands)).route("/api/commands/approve", post(approve_commands))
}

async fn read_commands(State(context): State<SharedContext>) -> ApiResult {
    let review = run_use_case(&context, async |context| CommandReview::load(&context.project, &context.config)).await?;
    Ok(JsonAnswer::ok(json!({
        "approved": review.is_approved, "text": review.shown.text, "seen": review.shown.digest,
    })))
}

async fn approve_commands(State(context): State<SharedContext>, JsonBody(order): JsonBody<ApprovalOrder>) -> ApiResult {
    let approved = run_use_case(&context, async move |context| {
        approve_seen_commands(&context.project, &context.config, &order.seen)
    });
    approved.await?;
    Ok(JsonAnswer::ok(json!({ "result": "approved" })))
}
