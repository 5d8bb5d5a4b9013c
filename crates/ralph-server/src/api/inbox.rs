//! Active loops, the inbox, and statistics.
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use ralph_app::control::ActiveWorkReader;
use ralph_app::inbox::list_inbox;
use ralph_app::maintenance::{StatsPeriod, StatsRequest, load_stats};
use ralph_app::view::{ActiveWork, timestamp_json, workflow_run_json};
use ralph_app::workflow_runs::list_active_workflow_runs;
use ralph_store::StatsGrouping;
use ralph_util::duration;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{ApiResult, JsonAnswer};
use super::parameters::{QueryValues, page_size};
use super::use_case::run_use_case;
use crate::context::SharedContext;
use crate::driver::DeferredTask;
use crate::problem::Problem;

/// The version of the names and values in the answers. A new one breaks clients; new fields do not change it.
pub(crate) const API_VERSION: u32 = 1;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/healthz", get(read_health))
        .route("/api/status", get(read_status))
        .route("/api/inbox", get(read_inbox))
        .route("/api/stats", get(read_stats))
}

async fn read_health() -> JsonAnswer {
    JsonAnswer::ok(json!({ "status": "ok", "api_version": API_VERSION }))
}

async fn read_status(State(context): State<SharedContext>) -> ApiResult {
    let loaded = run_use_case(&context, async |context| {
        let work = ActiveWorkReader::new(&context.project).read().await?;
        let workflows = list_active_workflow_runs(&context.project).await?;
        let waiting = list_inbox(&context.project).await?.len();
        let loops: Vec<Value> = work.iter().map(ActiveWork::to_json).collect();
        let workflows: Vec<Value> = workflows.iter().map(workflow_run_json).collect();
        let deferred: Vec<Value> = context.driver.deferrals().list().iter().map(deferred_json).collect();
        Ok(json!({
            "api_version": API_VERSION, "loops": loops, "workflow_runs": workflows, "inbox_count": waiting,
            "deferred_tasks": deferred, "project": context.project.root.display().to_string(),
        }))
    });
    Ok(JsonAnswer::ok(loaded.await?))
}

fn deferred_json(deferred: &DeferredTask) -> Value {
    let since = timestamp_json(deferred.since);
    json!({ "task": deferred.task, "reason": deferred.reason, "since": since })
}

async fn read_inbox(State(context): State<SharedContext>) -> ApiResult {
    let items = run_use_case(&context, async |context| list_inbox(&context.project).await).await?;
    let items: Vec<Value> =
        items.iter().map(|item| item.to_json(&(context.words.inbox_commands)(&item.answer))).collect();
    Ok(JsonAnswer::ok(json!({ "items": items })))
}

#[derive(Deserialize)]
struct StatsQuery {
    by: Option<String>,
    since: Option<String>,
    limit: Option<u32>,
}

async fn read_stats(State(context): State<SharedContext>, QueryValues(query): QueryValues<StatsQuery>) -> ApiResult {
    let request = query.parse()?;
    let stats = run_use_case(&context, async move |context| load_stats(&context.project, request).await).await?;
    Ok(JsonAnswer::ok(stats.to_json()))
}

impl StatsQuery {
    fn parse(&self) -> Result<StatsRequest, Problem> {
        let grouping = match self.by.as_deref().unwrap_or("role") {
            "role" => StatsGrouping::Role,
            "agent" => StatsGrouping::Agent,
            "model" => StatsGrouping::Model,
            "task" => StatsGrouping::Task,
            "spec" => StatsGrouping::Spec,
            "iteration" => StatsGrouping::Iteration,
            other => {
                return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, format!("by cannot be {other:?}"))
                    .with_hint("use role, agent, model, task, spec or iteration"));
            }
        };
        let period = match self.since.as_deref() {
            None => StatsPeriod::AllTime,
            Some(age) => StatsPeriod::Last(
                duration::parse(age)
                    .map_err(|error| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, format!("since: {error}")))?,
            ),
        };
        Ok(StatsRequest { grouping, period, limit: page_size(self.limit)? })
    }
}
