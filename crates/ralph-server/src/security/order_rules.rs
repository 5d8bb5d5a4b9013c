//! The rules for requests that change something.
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use ralph_app::run::refuse_order_by_connected_agent;

use super::request_source::{ClientConnection, RequestOrigin};
use super::{SecuritySettings, ServerReach};
use crate::context::SharedContext;
use crate::problem::Problem;

use super::session::BrowserSession;

const CSRF_HEADER: HeaderName = HeaderName::from_static("x-ralph-csrf");

/// How a request has shown that it may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credentials {
    /// The token of the project.
    Token,
    /// The session of a browser. It does not suffice for an order.
    Session,
    Missing,
}

impl Credentials {
    pub(super) fn from_headers(security: &SecuritySettings, headers: &HeaderMap) -> Self {
        let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = authorization.and_then(|value| value.split_once(' '));
        match bearer {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && security.token.matches(token.trim()) => {
                Self::Token
            }
            _ if BrowserSession::from_headers(&security.token, headers).is_some() => Self::Session,
            _ => Self::Missing,
        }
    }
}

/// Returns the error for a request without a valid token.
pub(super) fn missing_token_problem() -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong")
        .with_hint("send the header Authorization: Bearer TOKEN, with the token that ralph serve --print-token prints")
        .with_hint("in a browser, open the address that ralph serve --print-url prints")
}

/// A request that changes something.
pub(super) struct OrderRequest<'a> {
    pub path: &'a str,
    pub headers: &'a HeaderMap,
    pub credentials: Credentials,
    pub origin: RequestOrigin,
    pub reach: ServerReach,
}

impl OrderRequest<'_> {
    /// Refuses a request that a page of another site may have sent, or that has no valid token.
    pub(super) fn check(&self, security: &SecuritySettings) -> Result<(), Problem> {
        if self.origin == RequestOrigin::Foreign {
            return Err(Problem::new(StatusCode::FORBIDDEN, "the request comes from a page of another site"));
        }
        let is_local_conversation = self.reach == ServerReach::Loopback && is_conversation_path(self.path);
        let may_skip_token = is_local_conversation || is_signed_path(self.path);
        match self.credentials {
            Credentials::Token => {}
            Credentials::Session => self.check_session(security)?,
            Credentials::Missing if may_skip_token => {}
            Credentials::Missing => return Err(missing_token_problem()),
        }
        if self.is_json() {
            return Ok(());
        }
        Err(Problem::new(StatusCode::FORBIDDEN, "the request is not JSON")
            .with_hint("send the header Content-Type: application/json"))
    }

    /// A cookie alone never authorises an order.
    fn check_session(&self, security: &SecuritySettings) -> Result<(), Problem> {
        let session = BrowserSession::from_headers(&security.token, self.headers);
        let presented = self.headers.get(CSRF_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_confirmed = session.is_some_and(|session| session.accepts_csrf(&security.token, presented));
        if is_confirmed && self.origin == RequestOrigin::SameOrigin {
            return Ok(());
        }
        Err(Problem::new(StatusCode::FORBIDDEN, "a session cookie alone does not authorise an order")
            .with_hint("send the headers Origin and X-Ralph-CSRF, as the pages of the dashboard do"))
    }

    fn is_json(&self) -> bool {
        let content_type = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let essence = content_type.map(|value| value.split(';').next().unwrap_or_default().trim());
        essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
    }
}

/// The routes below `/test` work without a token on loopback.
pub(super) fn is_conversation_path(path: &str) -> bool {
    path == "/test" || path.starts_with("/test/")
}

/// The routes of platforms: their handlers check a signature of the shared secret.
fn is_signed_path(path: &str) -> bool {
    matches!(path, "/hooks/slack" | "/hooks/webhook")
}

/// Refuses an order of an agent that works on the project.
pub(super) async fn refuse_agent(context: &SharedContext, connection: ClientConnection) -> Result<(), Problem> {
    let Some(connection) = connection.loopback() else { return Ok(()) };
    let project = context.project.clone();
    let check = move || refuse_order_by_connected_agent(&project, connection, "give orders to its own project");
    match tokio::task::spawn_blocking(check).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            let problem = Problem::from_app_error(context, &error);
            Err(Problem { hints: problem.hints, ..Problem::new(StatusCode::FORBIDDEN, problem.detail) })
        }
        Err(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the client of the order cannot be checked")),
    }
}
