//! The JSON API below `/api`. Handlers parse a request, call a use case of `ralph-app`, and format its result.
mod answer;
mod answers;
mod changes;
mod event_streams;
mod events;
mod inbox;
mod log;
mod openapi;
mod openapi_routes;
mod orders;
mod parameters;
mod runs;
mod tasks;
mod use_case;
mod workflow_runs;
mod workflows;

use axum::Router;

use crate::context::SharedContext;

pub(crate) use changes::{ChangeWatcher, ProjectChange};
pub(crate) use orders::OrderLocks;

pub(crate) fn routes() -> Router<SharedContext> {
    Router::new()
        .merge(inbox::routes())
        .merge(openapi::routes())
        .merge(runs::routes())
        .merge(events::routes())
        .merge(event_streams::routes())
        .merge(tasks::routes())
        .merge(workflows::routes())
        .merge(workflow_runs::routes())
        .merge(orders::routes())
}
