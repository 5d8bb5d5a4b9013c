//! Orders that start runs and workflow runs.
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use ralph_app::config::Settings;
use ralph_app::error::AppResult;
use ralph_app::interaction::NoInteraction;
use ralph_app::run::{PreparedRun, RunWorkspace, StartRunRequest, prepare_run};
use ralph_app::workflow_runs::{PreparedWorkflow, WorkflowRunRequest, WorkflowWorkspace, prepare_workflow_run};
use ralph_core::claim::Promise;
use ralph_core::criterion::ExternalCheck;
use ralph_engine::lock::LockSharing;
use ralph_engine::run_driver::{OutputVisibility, PromptSource};
use ralph_util::amounts::DollarAmount;
use serde::Deserialize;
use serde_json::{Number, json};
use utoipa::ToSchema;

use crate::api::answer::{ApiResult, JsonAnswer};
use crate::api::parameters::JsonBody;
use crate::api::use_case::run_use_case;
use crate::api::{runs, workflow_runs};
use crate::context::SharedContext;
use crate::driver::QuietObserver;
use crate::problem::Problem;

/// The name of the layer of settings that a request adds.
const REQUEST_LAYER: &str = "the request";

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/api/runs", get(runs::list_runs).post(start_run))
        .route("/api/workflow-runs", get(workflow_runs::list_workflow_runs).post(start_workflow))
}

/// A run to start. Fields that are left out have the value of the configuration.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartRunOrder {
    pub prompt: String,
    pub agent: Option<String>,
    pub model: Option<String>,
    /// Shell commands that must succeed before a claim is accepted.
    pub checks: Option<Vec<String>>,
    pub max_iterations: Option<u32>,
    #[schema(value_type = Option<f64>)]
    pub max_cost_usd: Option<Number>,
    /// Text inside `<promise>…</promise>` with which the agent claims completion.
    pub promise: Option<String>,
    /// Works in a separate git work tree.
    pub worktree: Option<bool>,
}

async fn start_run(State(context): State<SharedContext>, JsonBody(order): JsonBody<StartRunOrder>) -> ApiResult {
    let order = ParsedRunOrder::parse(order)?;
    let id = run_use_case(&context, async move |context| {
        let prepared = order.prepare(&context)?;
        context.driver.start_stored_run(prepared).await
    });
    Ok(JsonAnswer::created(json!({ "id": id.await? })))
}

struct ParsedRunOrder {
    order: StartRunOrder,
    promise: Promise,
    max_cost: Option<DollarAmount>,
}

impl ParsedRunOrder {
    fn parse(order: StartRunOrder) -> Result<Self, Problem> {
        let invalid = |message: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, message);
        let word = order.promise.as_deref().unwrap_or("DONE");
        if word.contains(['<', '>']) {
            return Err(invalid("promise contains `<` or `>`, which belong to the tag around it".to_owned()));
        }
        let promise = Promise::parse(word).map_err(|error| invalid(format!("promise: {error}")))?;
        if order.max_iterations == Some(0) {
            return Err(invalid("max_iterations must be at least 1".to_owned()));
        }
        if order.checks.iter().flatten().any(|check| check.trim().is_empty()) {
            return Err(invalid("a check is empty".to_owned()));
        }
        let max_cost = order.max_cost_usd.as_ref().map(|amount| DollarAmount::parse(&amount.to_string())).transpose();
        let max_cost = max_cost.map_err(|error| invalid(format!("max_cost_usd: {error}")))?;
        Ok(Self { order, promise, max_cost })
    }

    fn prepare(self, context: &SharedContext) -> AppResult<PreparedRun> {
        let mut settings = context.config.load_settings(Some(&context.project))?;
        self.apply(&mut settings);
        let Self { order, promise, .. } = self;
        let request = StartRunRequest {
            settings: &settings,
            extra_agent_args: Vec::new(),
            visibility: OutputVisibility::Shown,
            promise,
            prompt: PromptSource::Text(order.prompt),
            sharing: LockSharing::Exclusive,
            workspace: if order.worktree == Some(true) { RunWorkspace::OwnWorktree } else { RunWorkspace::Project },
        };
        prepare_run(request, context.project.clone(), &NoInteraction)
    }

    fn apply(&self, settings: &mut Settings) {
        let order = &self.order;
        settings.agent.set_from_flag(order.agent.clone(), REQUEST_LAYER);
        settings.model.set_from_flag(order.model.clone().map(Some), REQUEST_LAYER);
        settings.default_max_iterations.set_from_flag(order.max_iterations, REQUEST_LAYER);
        settings.limits.max_cost_usd.set_from_flag(self.max_cost.map(Some), REQUEST_LAYER);
        let checks = order.checks.as_ref().filter(|checks| !checks.is_empty());
        let checks =
            checks.map(|checks| checks.iter().map(|text| ExternalCheck::from_shell_text(text).into()).collect());
        settings.checks.set_from_flag(checks, REQUEST_LAYER);
    }
}

/// A workflow to start.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartWorkflowOrder {
    pub workflow: String,
    pub message: Option<String>,
    pub inputs: Option<BTreeMap<String, String>>,
}

async fn start_workflow(
    State(context): State<SharedContext>,
    JsonBody(order): JsonBody<StartWorkflowOrder>,
) -> ApiResult {
    let id = run_use_case(&context, async move |context| {
        let settings = context.config.load_settings(Some(&context.project))?;
        let prepared = prepare_workflow(&context, &order, &settings)?;
        context.driver.start_stored_workflow(prepared, settings, Arc::new(QuietObserver)).await
    });
    Ok(JsonAnswer::created(json!({ "id": id.await? })))
}

fn prepare_workflow(
    context: &SharedContext,
    order: &StartWorkflowOrder,
    settings: &Settings,
) -> AppResult<PreparedWorkflow> {
    let request = WorkflowRunRequest {
        name: &order.workflow,
        message: order.message.clone().unwrap_or_default(),
        inputs: order.inputs.clone().unwrap_or_default(),
        workspace: WorkflowWorkspace::AsWritten,
        settings,
        extra_agent_args: Vec::new(),
        max_cost_micros: settings.limits.max_cost_usd.value.map(DollarAmount::as_micros),
    };
    prepare_workflow_run(request, context.project.clone(), &NoInteraction)
}
