//! Limits the body of a request, and the time of its answer.
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::problem::Problem;

const MAX_BODY_BYTES: usize = 1024 * 1024;
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// An order may wait for an agent that is asked to stop.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// Reads the body before a handler gets the request. Large, slow and compressed ones are refused.
pub(crate) async fn read_limited_body(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match read_body(&parts.headers, body).await {
        Ok(body) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => {
            let mut response = problem.into_response();
            // The rest of the body is not read.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            response
        }
    }
}

async fn read_body(headers: &axum::http::HeaderMap, body: Body) -> Result<Body, Problem> {
    if body.is_end_stream() {
        return Ok(body);
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a compressed body is not accepted"));
    }
    let too_large =
        || Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {MAX_BODY_BYTES} bytes"));
    if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY_BYTES).collect()).await {
        Ok(Ok(collected)) => Ok(Body::from(collected.to_bytes())),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(StatusCode::BAD_REQUEST, "the body cannot be read")),
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body was not sent in time")),
    }
}

/// Limits the time until the head of an answer is ready. A stream may take longer to send its body.
pub(crate) async fn answer_in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(ANSWER_TIMEOUT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(StatusCode::GATEWAY_TIMEOUT, "the answer takes too long")
            .with_hint("an order is carried out all the same; read its result later")
            .into_response(),
    }
}
