//! JSON answers without secrets.
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ralph_util::redact::redact_text;
use serde_json::Value;

use crate::problem::Problem;

pub(super) type ApiResult = Result<JsonAnswer, Problem>;

/// A JSON answer. Secrets are redacted when it is sent.
pub(super) struct JsonAnswer {
    status: StatusCode,
    body: Value,
}

impl JsonAnswer {
    pub(super) fn ok(body: Value) -> Self {
        Self { status: StatusCode::OK, body }
    }

    /// The order has created something.
    pub(super) fn created(body: Value) -> Self {
        Self { status: StatusCode::CREATED, body }
    }
}

impl IntoResponse for JsonAnswer {
    fn into_response(self) -> Response {
        let text = self.body.to_string();
        let json = HeaderValue::from_static("application/json");
        (self.status, [(header::CONTENT_TYPE, json)], redact_text(&text).into_owned()).into_response()
    }
}
