//! The order that starts a worker for tasks in this process.
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use ralph_app::config::Settings;
use ralph_app::interaction::NoInteraction;
use ralph_app::work::{StopCondition, WorkRequest, WorkScope, ensure_work_allowed, prepare_work};
use ralph_core::policy::ContextMode;
use ralph_engine::run_driver::OutputVisibility;
use ralph_util::amounts::DollarAmount;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::api::answer::{ApiResult, JsonAnswer};
use crate::api::parameters::JsonBody;
use crate::api::use_case::run_use_case;
use crate::context::SharedContext;
use crate::driver::WorkerScreen;
use crate::problem::Problem;

const MAX_SLOTS: u32 = 10_000;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new().route("/api/work", post(start_worker))
}

/// A worker to start. A server has one.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkOrder {
    /// Tasks at the same time.
    pub slots: Option<u32>,
    /// Ends when no task is left; otherwise the worker waits for more.
    #[serde(default)]
    pub until_idle: bool,
}

async fn start_worker(State(context): State<SharedContext>, JsonBody(order): JsonBody<WorkOrder>) -> ApiResult {
    if order.slots.is_some_and(|slots| slots == 0 || slots > MAX_SLOTS) {
        return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, format!("slots must be from 1 to {MAX_SLOTS}")));
    }
    let started = run_use_case(&context, async move |context| {
        ensure_work_allowed(&context.project)?;
        let mut settings = context.config.load_settings(Some(&context.project))?;
        settings.pipeline.slots.set_from_flag(order.slots, "the request");
        let slots = settings.pipeline.slots.value;
        let scope = WorkScope {
            named_tasks: Vec::new(),
            stop_condition: if order.until_idle { StopCondition::WhenIdle } else { StopCondition::OnSignal },
            max_cost_micros: settings.limits.max_cost_usd.value.map(DollarAmount::as_micros),
        };
        let WorkerScreen { observer, when_ended } = (context.worker_screen)();
        let request = WorkRequest {
            project: context.project.clone(),
            config: context.config.clone(),
            settings,
            settings_for_role: Box::new(Settings::for_role),
            extra_agent_args: Vec::new(),
            visibility: OutputVisibility::Shown,
            context: ContextMode::Fresh,
            person: Box::new(NoInteraction),
            observer,
        };
        let prepared = prepare_work(request, scope)?;
        context.driver.start_worker(prepared, when_ended).await?;
        Ok(slots)
    });
    Ok(JsonAnswer::created(json!({ "result": "working", "slots": started.await? })))
}
