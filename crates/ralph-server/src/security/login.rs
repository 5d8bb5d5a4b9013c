//! `GET /login`: exchanges the one-time code of a login address for a session cookie. `GET /api/session` shows the session.
use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Json, Redirect, Response};
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};

use super::SessionState;
use super::session::BrowserSession;
use crate::context::SharedContext;
use crate::problem::Problem;

pub(crate) fn routes() -> Router<SharedContext> {
    Router::new().route("/login", get(log_in)).route("/api/session", get(read_session))
}

/// Tells the pages of this server what their orders need. Pages of other sites cannot read the answer.
async fn read_session(session: SessionState) -> Json<Value> {
    Json(json!({ "csrf_token": session.csrf_token }))
}

#[derive(Deserialize)]
struct LoginQuery {
    token: Option<String>,
}

async fn log_in(
    State(context): State<SharedContext>,
    method: Method,
    Query(LoginQuery { token: code }): Query<LoginQuery>,
) -> Response {
    // A program that only looks at the address must not use up the code.
    if method != Method::GET {
        return StatusCode::NO_CONTENT.into_response();
    }
    let security = &context.security;
    if !code.is_some_and(|code| security.logins.use_code(&code)) {
        return Problem::new(
            StatusCode::UNAUTHORIZED,
            "this login address is unknown, was used already, or has expired",
        )
        .with_hint("print a new one: ralph serve --print-url")
        .into_response();
    }
    let Ok(cookie) = HeaderValue::from_str(&BrowserSession::create_cookie(&security.token)) else {
        return Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the session cookie cannot be sent").into_response();
    };
    ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response()
}
