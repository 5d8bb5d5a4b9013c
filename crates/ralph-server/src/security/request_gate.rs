//! Checks every request before a handler sees it.
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::order_rules::{Credentials, OrderRequest, is_conversation_path, missing_token_problem, refuse_agent};
use super::request_source::{ClientConnection, RequestOrigin};
use super::session::BrowserSession;
use super::{ServerReach, SessionState};
use crate::context::SharedContext;
use crate::problem::Problem;

const LOGIN_PATH: &str = "/login";

/// Checks host, origin and token, and that no agent gives the order. Adds the [`SessionState`] of the reader.
pub(crate) async fn check_request(State(context): State<SharedContext>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match admit_request(&context, &parts).await {
        Ok(session) => {
            parts.extensions.insert(session);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(problem) => problem.into_response(),
    }
}

async fn admit_request(context: &SharedContext, request: &Parts) -> Result<SessionState, Problem> {
    let (security, headers, path) = (&context.security, &request.headers, request.uri.path());
    let Some(authority) = security.hosts.requested_authority(headers, &request.uri) else {
        return Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "this server does not answer for the requested host",
        )
        .with_hint("use the printed address, or name the host: ralph serve --allow-host NAME"));
    };
    let reach = security.hosts.reach_of_request(headers, authority);
    let is_order = !matches!(request.method, Method::GET | Method::HEAD);
    if reach == ServerReach::Network && is_conversation_path(path) {
        return Err(Problem::new(StatusCode::NOT_FOUND, "/test is available on this machine only, without a proxy"));
    }
    let credentials = Credentials::from_headers(security, headers);
    let origin = RequestOrigin::from_headers(headers, authority);
    if is_order {
        OrderRequest { path, headers, credentials, origin, reach }.check(security)?;
    } else if reach == ServerReach::Network && credentials == Credentials::Missing && path != LOGIN_PATH {
        return Err(missing_token_problem());
    }
    if is_order || path == LOGIN_PATH {
        let connection = request.extensions.get::<ClientConnection>().copied();
        let unknown = || Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the client address is unknown");
        refuse_agent(context, connection.ok_or_else(unknown)?).await?;
    }
    let session = BrowserSession::from_headers(&security.token, headers);
    Ok(SessionState { csrf_token: session.map(|session| session.csrf_token(&security.token)) })
}
