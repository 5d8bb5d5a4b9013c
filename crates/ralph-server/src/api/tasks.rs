//! Reads tasks.
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use ralph_app::task_files::find_task;
use ralph_app::tasks::{TaskListFilter, load_task_page, load_task_view};
use ralph_app::view::TaskListItemJson;
use ralph_core::task::TaskStatus;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{ApiResult, JsonAnswer};
use super::parameters::{QueryValues, RequestedId, page_size};
use super::use_case::run_use_case;
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new().route("/api/tasks", get(read_tasks)).route("/api/tasks/{id}", get(read_task))
}

#[derive(Deserialize)]
struct TaskListQuery {
    limit: Option<u32>,
    /// The id of the last task of the page before.
    after: Option<String>,
    status: Option<String>,
    spec: Option<String>,
    ready: Option<bool>,
}

async fn read_tasks(State(context): State<SharedContext>, QueryValues(query): QueryValues<TaskListQuery>) -> ApiResult {
    let limit = page_size(query.limit)?;
    let statuses = query.statuses()?;
    let filter = TaskListFilter { statuses, spec: query.spec, ready_only: query.ready.unwrap_or(false) };
    let loaded = run_use_case(&context, async move |context| {
        load_task_page(&context.project, &filter, query.after, limit).await
    });
    let page = loaded.await?;
    let rows = page.tasks.iter().map(|task| TaskListItemJson::from_list_item(&task.item, &task.blockers()));
    let rows: Vec<Value> = rows.map(|row| json!(row)).collect();
    Ok(JsonAnswer::ok(json!({ "tasks": rows, "next": page.next, "total": page.total })))
}

impl TaskListQuery {
    fn statuses(&self) -> Result<Vec<TaskStatus>, Problem> {
        let names = self.status.iter().flat_map(|names| names.split(',')).filter(|name| !name.is_empty());
        let parse = |name: &str| {
            let unknown =
                || Problem::new(StatusCode::UNPROCESSABLE_ENTITY, format!("{name:?} is not a status of tasks"));
            TaskStatus::parse(name).ok_or_else(unknown)
        };
        names.map(parse).collect()
    }
}

async fn read_task(State(context): State<SharedContext>, RequestedId(id): RequestedId) -> ApiResult {
    let loaded = run_use_case(&context, async move |context| {
        let settings = context.config.load_settings(Some(&context.project))?;
        let found = find_task(&context.project, &id).await?;
        Ok(load_task_view(&context.project, found, &settings).await?.to_json())
    });
    Ok(JsonAnswer::ok(loaded.await?))
}
