//! The dashboard: pages that are rendered on the server and can be read without JavaScript.
mod assets;
mod controls;
mod display;
mod frame;
mod home;
mod run;
mod run_table;
mod runs;
mod start;
mod stats;
mod task;
mod workflow;

use axum::Router;
use axum::routing::get;

use crate::context::SharedContext;

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
        .route("/board", get(task::board::show_board))
        .route("/tasks", get(task::list::show_tasks))
        .route("/tasks/{id}", get(task::task_page::show_task))
        .route("/workflows", get(workflow::list::show_workflows))
        .route("/workflows/{name}", get(workflow::definition::show_workflow))
        .route("/workflow-runs/{id}", get(workflow::run::show_workflow_run))
}
