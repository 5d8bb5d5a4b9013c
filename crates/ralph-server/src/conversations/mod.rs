//! Conversations: messages that start workflows, and what ralph answers.
mod api_routes;
mod drive_runs;
mod message_json;
mod platform_routes;
mod test_routes;

use axum::Router;

use crate::context::SharedContext;

pub(crate) fn routes() -> Router<SharedContext> {
    Router::new().merge(api_routes::routes()).merge(platform_routes::routes()).merge(test_routes::routes())
}
