//! The parameters of requests: ids in paths, query values and JSON bodies. Errors are problems, not plain text.
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Json, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// Longer ids belong to nothing.
const MAX_ID_CHARS: usize = 200;
const DEFAULT_PAGE_SIZE: u32 = 50;
const MAX_PAGE_SIZE: u32 = 500;

/// The id in a path: a run, a part of its id, a task or a workflow. It is never part of a file path.
#[derive(Debug, Clone)]
pub(crate) struct RequestedId(pub String);

impl RequestedId {
    fn parse(text: String) -> Result<Self, Problem> {
        let is_plain = |c: char| !c.is_control() && !matches!(c, '/' | '\\');
        let is_id = !text.trim().is_empty() && text.len() <= MAX_ID_CHARS && text.chars().all(is_plain);
        if is_id && !text.starts_with('.') { Ok(Self(text)) } else { Err(not_an_id()) }
    }
}

fn not_an_id() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "the path contains something that is not an id")
}

impl<S: Send + Sync> FromRequestParts<S> for RequestedId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await.map_err(|_| not_an_id())?;
        Self::parse(path.0)
    }
}

/// The id of a run and the number of one of its iterations.
#[derive(Debug, Clone)]
pub(crate) struct RequestedIteration {
    pub id: String,
    pub iteration: u32,
}

impl<S: Send + Sync> FromRequestParts<S> for RequestedIteration {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<(String, u32)>::from_request_parts(parts, state).await.map_err(|_| not_an_id())?;
        let (id, iteration) = path.0;
        RequestedId::parse(id).map(|id| Self { id: id.0, iteration })
    }
}

/// The values after the question mark.
pub(crate) struct QueryValues<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryValues<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(values)) => Ok(Self(values)),
            Err(error) => Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.body_text())),
        }
    }
}

/// The JSON body of an order. No body is an empty object.
pub(crate) struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let bytes = axum::body::Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.body_text()))?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        match Json::from_bytes(text) {
            Ok(Json(body)) => Ok(Self(body)),
            Err(error @ JsonRejection::JsonDataError(_)) => {
                Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.body_text()))
            }
            Err(error) => Err(Problem::new(StatusCode::BAD_REQUEST, error.body_text())),
        }
    }
}

/// Where a page of a list begins, and how long it is.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct PageQuery {
    pub limit: Option<u32>,
    pub before: Option<String>,
}

/// Returns the size of a page. A larger one is cut.
pub(crate) fn page_size(limit: Option<u32>) -> Result<u32, Problem> {
    match limit {
        Some(0) => Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "limit must be at least 1")),
        limit => Ok(limit.unwrap_or(DEFAULT_PAGE_SIZE).min(MAX_PAGE_SIZE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // fault: 103
    #[test]
    fn paths_and_control_characters_are_not_ids() {
        for id in ["3f2a9c41", "TASK-001", "fix issue", "a.b"] {
            assert!(RequestedId::parse(id.to_owned()).is_ok(), "{id}");
        }
        let long = "a".repeat(MAX_ID_CHARS + 1);
        for id in ["", " ", "..", ".", "../../etc/passwd", "a\\b", "a\0b", "a\nb", &long] {
            assert!(RequestedId::parse(id.to_owned()).is_err(), "{id:?}");
        }
    }
}
