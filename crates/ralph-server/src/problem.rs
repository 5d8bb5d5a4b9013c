//! Errors as `application/problem+json` (RFC 9457), with the hint that the command line would give.
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ralph_app::error::{AppError, ErrorKind, ErrorOrigin};
use ralph_engine::lock::LockError;
use ralph_util::redact::redact_text;
use serde::Serialize;
use utoipa::ToSchema;

use crate::context::ServerContext;

/// The problem with a request.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// `about:blank`: the status says what kind of problem it is.
    #[serde(rename = "type")]
    pub problem_type: &'static str,
    pub title: String,
    pub status: u16,
    /// The failure and its reason.
    pub detail: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            problem_type: "about:blank",
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Converts the error of a use case, with the hints of the command line.
    pub(crate) fn from_app_error(context: &ServerContext, error: &AppError) -> Self {
        let hints = (context.words.hints)(error).iter().map(|hint| redact_text(hint).into_owned()).collect();
        Self { hints, ..Self::new(status_of(error), redact_text(&error.to_string()).into_owned()) }
    }
}

fn status_of(error: &AppError) -> StatusCode {
    // A lock or a lease that another process holds is a conflict and not a fault.
    let is_taken = matches!(error.origin.as_deref(), Some(ErrorOrigin::Lock(LockError::Taken { .. })));
    match error.kind {
        ErrorKind::InvalidRequest => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Preflight | ErrorKind::PlanMissing | ErrorKind::GitFailed => StatusCode::CONFLICT,
        ErrorKind::StateUnusable if is_taken || error.origin.is_none() => StatusCode::CONFLICT,
        ErrorKind::StateUnusable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default();
        let json = HeaderValue::from_static("application/problem+json");
        (status, [(header::CONTENT_TYPE, json)], body).into_response()
    }
}
