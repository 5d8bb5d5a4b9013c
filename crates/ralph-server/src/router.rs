//! All routes of the server.
use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};

use crate::context::SharedContext;
use crate::problem::Problem;
use crate::requests::{answer_in_time, read_limited_body, run_order_to_end};
use crate::security::{add_security_headers, check_request};
use crate::{api, conversations, pages, security};

/// Layers run from the bottom up: the headers are added to every answer, and nothing is read from a request that is refused.
pub(crate) fn build_router(context: SharedContext) -> Router {
    Router::new()
        .merge(api::routes())
        .merge(conversations::routes())
        .merge(pages::routes())
        .merge(security::routes())
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(context.clone(), run_order_to_end))
        .layer(from_fn(answer_in_time))
        .layer(from_fn(read_limited_body))
        .layer(from_fn_with_state(context.clone(), check_request))
        .layer(from_fn(add_security_headers))
        .with_state(context)
}

async fn unknown_path(uri: Uri) -> Response {
    let path: String = uri.path().chars().take(200).collect();
    Problem::new(StatusCode::NOT_FOUND, format!("there is no page {path:?}"))
        .with_hint("/openapi.json lists the routes of the API")
        .into_response()
}

async fn wrong_method() -> Response {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this method is not available here").into_response()
}
