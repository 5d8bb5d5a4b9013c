//! The dashboard: pages that are rendered on the server and can be read without JavaScript.
mod assets;
mod commands;
mod controls;
mod display;
mod frame;
mod home;
mod run;
mod run_table;
mod runs;
mod shown_decision;
mod start;
mod stats;
mod task;
mod timeline;
mod workflow;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::runtime::Handle;

use crate::context::SharedContext;

/// A page runs git and reads files. It is made in a thread where it may block, so that it never keeps other requests waiting.
async fn render_where_it_may_block(request: Request, next: Next) -> Response {
    let runtime = Handle::current();
    let rendered = tokio::task::spawn_blocking(move || runtime.block_on(next.run(request))).await;
    rendered.unwrap_or_else(|_| (StatusCode::INTERNAL_SERVER_ERROR, "the page failed inside ralph").into_response())
}

pub(crate) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/", get(home::show_home))
        .route("/assets/{version}/{name}", get(assets::serve_asset))
        .route("/runs", get(runs::show_runs))
        .route("/runs/{id}", get(run::run_page::show_run))
        .route("/runs/{id}/iterations/{number}", get(run::iteration::show_iteration))
        .route("/runs/{id}/diff", get(run::diff::show_diff))
        .route("/compare", get(stats::compare::show_comparison))
        .route("/stats", get(stats::stats_page::show_stats))
        .route("/start", get(start::show_start))
        .route("/commands", get(commands::show_commands))
        .route("/board", get(task::board::show_board))
        .route("/tasks", get(task::list::show_tasks))
        .route("/tasks/{id}", get(task::task_page::show_task))
        .route("/workflows", get(workflow::list::show_workflows))
        .route("/workflows/{name}", get(workflow::definition::show_workflow))
        .route("/workflow-runs/{id}", get(workflow::run::show_workflow_run))
        .route_layer(from_fn(render_where_it_may_block))
}
