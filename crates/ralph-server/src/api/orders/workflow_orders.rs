//! Orders for workflow runs.
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use ralph_app::control::parse_guidance;
use ralph_app::error::AppResult;
use ralph_app::interaction::NoInteraction;
use ralph_app::workflow_runs::{
    RerunRequest, SeenAnswer, WorkflowGuidance, WorkflowPause, answer_seen_question, cancel_workflow_run,
    find_workflow_run, guide_workflow_run, limit_workflow_run, pause_workflow_run, prepare_rerun,
};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::limit_values::LimitsOrder;
use super::order_locks::OrderLock;
use super::run_orders::{EmptyOrder, GuideOrder, PauseOrder};
use crate::api::answer::{ApiResult, JsonAnswer};
use crate::api::parameters::{JsonBody, RequestedId};
use crate::api::use_case::run_use_case;
use crate::context::SharedContext;
use crate::driver::QuietObserver;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/api/workflow-runs/{id}/pause", post(pause))
        .route("/api/workflow-runs/{id}/resume", post(resume))
        .route("/api/workflow-runs/{id}/cancel", post(cancel))
        .route("/api/workflow-runs/{id}/guide", post(guide))
        .route("/api/workflow-runs/{id}/limits", post(limits))
        .route("/api/workflow-runs/{id}/answers", post(answer))
        .route("/api/workflow-runs/{id}/rerun", post(rerun))
}

async fn lock_run(context: &SharedContext, id: &str) -> Result<OrderLock, Problem> {
    let id = id.to_owned();
    let found = run_use_case(context, async move |context| {
        let found = find_workflow_run(&context.project, Some(&id)).await?;
        found.store.close().await;
        Ok(found.run.id)
    });
    context.orders.take(found.await?)
}

async fn pause(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<PauseOrder>,
) -> ApiResult {
    let _lock = lock_run(&context, &id).await?;
    let when = if order.now { WorkflowPause::Now } else { WorkflowPause::AfterNodes };
    let paused =
        run_use_case(&context, async move |context| pause_workflow_run(&context.project, Some(&id), when).await);
    let result = if order.now { "stopping" } else { "pauses_after_nodes" };
    Ok(JsonAnswer::ok(json!({ "result": result, "run": paused.await?.id })))
}

async fn resume(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(EmptyOrder {}): JsonBody<EmptyOrder>,
) -> ApiResult {
    let _lock = lock_run(&context, &id).await?;
    let run = run_use_case(&context, async move |context| resume_run(&context, &id).await);
    Ok(JsonAnswer::ok(json!({ "result": "resumed", "run": run.await? })))
}

async fn resume_run(context: &SharedContext, id: &str) -> AppResult<String> {
    let settings = context.config.load_settings(Some(&context.project))?;
    context.driver.resume_stored_workflow(id, settings, Arc::new(QuietObserver)).await
}

async fn cancel(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(EmptyOrder {}): JsonBody<EmptyOrder>,
) -> ApiResult {
    let _lock = lock_run(&context, &id).await?;
    let cancelled = run_use_case(&context, async move |context| {
        cancel_workflow_run(&context.project, Some(&id), &NoInteraction).await
    });
    Ok(JsonAnswer::ok(json!({ "result": "cancelled", "run": cancelled.await?.id })))
}

async fn guide(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<GuideOrder>,
) -> ApiResult {
    if order.keep {
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "guidance for a workflow run cannot be kept")
            .with_hint("its nodes have different prompts; guide the run of one agent"));
    }
    let _lock = lock_run(&context, &id).await?;
    let sent = run_use_case(&context, async move |context| {
        let words = parse_guidance(order.words.into_bytes())?;
        guide_workflow_run(&context.project, Some(&id), words).await
    });
    Ok(JsonAnswer::ok(match sent.await? {
        WorkflowGuidance::Delivered { runs } => json!({ "result": "delivered", "runs": runs }),
        WorkflowGuidance::Stored => json!({ "result": "stored" }),
    }))
}

async fn limits(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<LimitsOrder>,
) -> ApiResult {
    let changes = order.parse_some()?;
    let _lock = lock_run(&context, &id).await?;
    let changed =
        run_use_case(&context, async move |context| limit_workflow_run(&context.project, Some(&id), changes).await);
    Ok(JsonAnswer::ok(json!({ "result": "changed", "max_cost_micros": changed.await? })))
}

/// The answer of a person to a question of a workflow run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerOrder {
    /// The value of `seen` of the question that the person has read. If this question is no longer open, nothing is decided.
    pub seen: String,
    /// One of the decisions of the question, such as `approve` or `reject`.
    pub decision: String,
    pub text: Option<String>,
}

async fn answer(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<AnswerOrder>,
) -> ApiResult {
    let _lock = lock_run(&context, &id).await?;
    let answered = run_use_case(&context, async move |context| -> AppResult<Value> {
        let AnswerOrder { seen, decision, text } = order;
        let text = text.unwrap_or_default();
        let answer = SeenAnswer { run: &id, seen: &seen, decision: &decision, text: &text };
        let answered = answer_seen_question(&context.project, answer).await?;
        if !answered.is_driven {
            resume_run(&context, &answered.run.id).await?;
        }
        Ok(
            json!({ "result": "answered", "run": answered.run.id, "node": answered.question.node, "decision": decision }),
        )
    });
    Ok(JsonAnswer::ok(answered.await?))
}

/// Repeats a workflow run from a node.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RerunOrder {
    /// The first node that runs again.
    pub from: String,
    /// Inputs that replace those of the run.
    pub inputs: Option<BTreeMap<String, String>>,
    pub agent: Option<String>,
    pub model: Option<String>,
}

async fn rerun(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<RerunOrder>,
) -> ApiResult {
    let _lock = lock_run(&context, &id).await?;
    let started = run_use_case(&context, async move |context| {
        let mut settings = context.config.load_settings(Some(&context.project))?;
        let replaces_agents = order.agent.is_some() || order.model.is_some();
        settings.agent.set_from_flag(order.agent, "the request");
        settings.model.set_from_flag(order.model.map(Some), "the request");
        let request = RerunRequest {
            run: Some(&id),
            from: &order.from,
            inputs: order.inputs.unwrap_or_default(),
            settings: &settings,
            extra_agent_args: Vec::new(),
            replaces_agents,
        };
        let prepared = prepare_rerun(&context.project, request, &NoInteraction).await?;
        context.driver.start_stored_workflow(prepared, settings, Arc::new(QuietObserver)).await
    });
    Ok(JsonAnswer::created(json!({ "id": started.await? })))
}
