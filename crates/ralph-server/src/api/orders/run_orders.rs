//! Orders for one run or one task.
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use ralph_app::control::{
    AcceptResult, CancelMode, CancelResult, ContinueResult, DecisionRequest, GuideResult, LimitResult, LoopTarget,
    LoopTargetKind, PauseResult, RejectResult, accept_claim, cancel_loop, change_limits, continue_run, keep_guidance,
    parse_guidance, pause_loop, reject_claim, send_guidance,
};
use ralph_app::error::{AppError, AppResult};
use ralph_app::interaction::NoInteraction;
use ralph_app::run::{PreparedResume, ResumeNotNeeded, ResumeRequest, prepare_resume};
use ralph_core::continuation::Continuation;
use ralph_core::control_command::PauseTiming;
use ralph_engine::run_driver::OutputVisibility;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::limit_values::LimitsOrder;
use super::order_locks::OrderLock;
use crate::api::answer::{ApiResult, JsonAnswer};
use crate::api::parameters::{JsonBody, RequestedId};
use crate::api::use_case::run_use_case;
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    ["/api/runs/{id}", "/api/tasks/{id}"].into_iter().fold(Router::new(), |routes, target| {
        routes
            .route(&format!("{target}/pause"), post(pause))
            .route(&format!("{target}/resume"), post(resume))
            .route(&format!("{target}/cancel"), post(cancel))
            .route(&format!("{target}/guide"), post(guide))
            .route(&format!("{target}/limits"), post(limits))
            .route(&format!("{target}/accept"), post(accept))
            .route(&format!("{target}/reject"), post(reject))
    })
}

/// Locks the run or task that an order names. A run that is a stage has the lock of its task.
pub(super) async fn lock_target(context: &SharedContext, id: &str) -> Result<OrderLock, Problem> {
    let id = id.to_owned();
    let found = run_use_case(context, async move |context| {
        let target = LoopTarget::find(&context.project, &id).await?;
        let name = match &target.kind {
            LoopTargetKind::Task { id, .. } => id.clone(),
            LoopTargetKind::Run(row) => row.run.task.clone().unwrap_or_else(|| row.run.id.clone()),
        };
        target.close().await;
        Ok(name)
    });
    context.orders.take(found.await?)
}

/// When a loop pauses.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseOrder {
    /// Stops the agent; otherwise the iteration ends first.
    #[serde(default)]
    pub now: bool,
}

async fn pause(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<PauseOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let timing = if order.now { PauseTiming::Now } else { PauseTiming::Idle };
    let paused = run_use_case(&context, async move |context| pause_loop(&context.project, Some(&id), timing).await);
    Ok(JsonAnswer::ok(match paused.await? {
        PauseResult::Paused(position) => json!({ "result": "paused", "position": position.to_string() }),
        PauseResult::AfterIteration(position) => {
            json!({ "result": "pauses_after_iteration", "position": position.to_string() })
        }
        PauseResult::BeforeNextLoop { task } => json!({ "result": "next_loop_starts_paused", "task": task }),
    }))
}

/// The changes before a run is resumed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResumeOrder {
    /// New limits, for a run that has ended with others.
    pub limits: Option<LimitsOrder>,
    /// Guidance for the next prompt.
    pub guidance: Option<String>,
}

async fn resume(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<ResumeOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let limits = order.limits.unwrap_or_default().parse()?;
    let resumed = run_use_case(&context, async move |context| {
        let guidance = order.guidance.map(|text| parse_guidance(text.into_bytes())).transpose()?;
        let continuation = Continuation { limits, guidance };
        if continuation.is_empty() {
            return resume_target(&context, &id).await;
        }
        match continue_run(&context.project, Some(&id), continuation).await? {
            ContinueResult::Run { run_id, .. } => resume_target(&context, &run_id).await,
            ContinueResult::Stage { task, stage, .. } => {
                Ok(json!({ "result": "worker_continues", "task": task, "stage": stage.as_str() }))
            }
        }
    });
    Ok(JsonAnswer::ok(resumed.await?))
}

async fn resume_target(context: &SharedContext, id: &str) -> AppResult<Value> {
    let request =
        ResumeRequest { config: &context.config, visibility: OutputVisibility::Shown, person: &NoInteraction };
    match prepare_resume(&context.project, Some(id), &request).await? {
        PreparedResume::Resumable(run) => {
            let run = context.driver.resume_run(*run).await?;
            Ok(json!({ "result": "resumed", "run": run }))
        }
        PreparedResume::NotNeeded(ResumeNotNeeded::WokenUp { position }) => {
            Ok(json!({ "result": "woken_up", "position": position }))
        }
        PreparedResume::NotNeeded(ResumeNotNeeded::PauseWithdrawn { task }) => {
            Ok(json!({ "result": "pause_withdrawn", "task": task }))
        }
        PreparedResume::NotNeeded(ResumeNotNeeded::Ended(ended)) => {
            Err(AppError::preflight(format!("run {} has ended: {}", ended.row.id, ended.end.reason))
                .with_advice("continue it with other limits or with guidance, or start another run"))
        }
    }
}

/// An order without fields.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyOrder {}

async fn cancel(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(EmptyOrder {}): JsonBody<EmptyOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let cancelled = run_use_case(&context, async move |context| {
        let target = LoopTarget::find(&context.project, &id).await?;
        let cancelled = cancel_loop(&target, CancelMode::Wait, &NoInteraction).await;
        target.close().await;
        cancelled
    });
    let conflict = |text: String| Err(Problem::new(StatusCode::CONFLICT, text));
    match cancelled.await? {
        CancelResult::StoppingLoop(position) | CancelResult::LoopCancelled(position) => {
            Ok(JsonAnswer::ok(json!({ "result": "cancelled", "position": position.to_string() })))
        }
        CancelResult::StoppingTask { task }
        | CancelResult::TaskCancelled { task }
        | CancelResult::IdleTaskCancelled { task } => {
            Ok(JsonAnswer::ok(json!({ "result": "cancelled", "task": task })))
        }
        CancelResult::LoopAlreadyCancelled(position) => {
            conflict(format!("the loop for {position} was already cancelled"))
        }
        CancelResult::TaskAlreadyCancelled { task } => conflict(format!("{task} was already cancelled")),
        CancelResult::EndedByOther(position) => conflict(format!("another process ended the loop for {position}")),
        CancelResult::Deleted => conflict("it was deleted meanwhile".to_owned()),
    }
}

/// Guidance for the next prompt.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuideOrder {
    pub words: String,
    /// Keeps it in every later prompt.
    #[serde(default)]
    pub keep: bool,
}

async fn guide(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<GuideOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let sent = run_use_case(&context, async move |context| {
        let words = parse_guidance(order.words.into_bytes())?;
        if order.keep {
            let kept = keep_guidance(&context.project, Some(&id), &words).await?;
            return Ok(json!({ "result": "kept", "name": kept.name, "words": kept.words }));
        }
        Ok(match send_guidance(&context.project, Some(&id), words).await? {
            GuideResult::Delivered(position) => json!({ "result": "delivered", "position": position.to_string() }),
            GuideResult::Stored { name } => json!({ "result": "stored", "name": name }),
            GuideResult::Answered { run } => json!({ "result": "answered", "run": run }),
        })
    });
    Ok(JsonAnswer::ok(sent.await?))
}

async fn limits(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<LimitsOrder>,
) -> ApiResult {
    let changes = order.parse_some()?;
    let _lock = lock_target(&context, &id).await?;
    let changed =
        run_use_case(&context, async move |context| change_limits(&context.project, Some(&id), changes).await);
    Ok(JsonAnswer::ok(match changed.await? {
        LimitResult::Changed { position, limits } => {
            json!({ "result": "changed", "position": position.to_string(), "limits": limits.describe() })
        }
        LimitResult::Unchanged(position) => json!({ "result": "unchanged", "position": position.to_string() }),
    }))
}

/// The decision of a person on a claim.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionOrder {
    /// The reason; part of the receipt or of the next prompt.
    pub because: Option<String>,
}

async fn accept(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<DecisionOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let accepted = run_use_case(&context, async move |context| {
        let DecisionOrder { because } = order;
        let request = DecisionRequest { project: &context.project, id: Some(&id), because, config: &context.config };
        accept_claim(request).await
    });
    Ok(JsonAnswer::ok(match accepted.await? {
        AcceptResult::Run { run, user, proof } => {
            json!({ "result": "accepted", "run": run, "user": user, "proof": proof })
        }
        AcceptResult::Stage { task, stage, user, next } => json!({
            "result": "accepted", "task": task, "stage": stage.as_str(), "user": user,
            "next_stage": next.map(|next| next.as_str().to_owned()),
        }),
    }))
}

async fn reject(
    State(context): State<SharedContext>,
    RequestedId(id): RequestedId,
    JsonBody(order): JsonBody<DecisionOrder>,
) -> ApiResult {
    let _lock = lock_target(&context, &id).await?;
    let rejected = run_use_case(&context, async move |context| {
        let DecisionOrder { because } = order;
        let request = DecisionRequest { project: &context.project, id: Some(&id), because, config: &context.config };
        reject_claim(request).await
    });
    Ok(JsonAnswer::ok(match rejected.await? {
        RejectResult::Run { run } => json!({ "result": "rejected", "run": run }),
        RejectResult::Stage { task, stage } => json!({ "result": "rejected", "task": task, "stage": stage.as_str() }),
    }))
}
