//! Carries out an order to its end, also if the client does not wait for the answer.
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderName, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;

use super::idempotency::{AnswerSlot, OrderKey, StoredAnswer};
use crate::context::SharedContext;
use crate::problem::Problem;

const KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");
const MAX_KEY_CHARS: usize = 200;

/// Runs an order in its own task. A repeated order with the same key gets the stored answer.
pub(crate) async fn run_order_to_end(State(context): State<SharedContext>, request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    match request.headers().get(KEY_HEADER).map(|key| key.to_str().unwrap_or_default().to_owned()) {
        None => run_in_task(request, next).await,
        Some(key) if key.is_empty() || key.len() > MAX_KEY_CHARS => {
            Problem::new(StatusCode::BAD_REQUEST, "the Idempotency-Key must have 1 to 200 visible characters")
                .into_response()
        }
        Some(key) => run_once(&context, key, request, next).await,
    }
}

async fn run_in_task(request: Request, next: Next) -> Response {
    match tokio::spawn(next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the order failed inside ralph").into_response(),
    }
}

async fn run_once(context: &SharedContext, key: String, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await.map(http_body_util::Collected::to_bytes) else {
        return Problem::new(StatusCode::BAD_REQUEST, "the body cannot be read").into_response();
    };
    let key = OrderKey { key, method: parts.method.to_string(), path: parts.uri.path().to_owned() };
    let reserved = match context.answers.reserve(&key, &body) {
        AnswerSlot::Stored(answer) => return answer.into_response(),
        AnswerSlot::InProgress => {
            return Problem::new(StatusCode::CONFLICT, "the same order is being carried out").into_response();
        }
        AnswerSlot::OtherOrder => {
            return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "this Idempotency-Key belongs to another order")
                .with_hint("use a new key for every order")
                .into_response();
        }
        AnswerSlot::Reserved(reserved) => reserved,
    };
    let request = Request::from_parts(parts, Body::from(body));
    let run = async move {
        let (head, body) = next.run(request).await.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let answer = StoredAnswer::new(&head, body);
        reserved.store(answer.clone());
        answer
    };
    match tokio::spawn(run).await {
        Ok(answer) => answer.into_response(),
        Err(_) => Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the order failed inside ralph").into_response(),
    }
}
