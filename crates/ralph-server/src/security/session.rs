//! The session of a browser: a cookie that the token of the project has signed, so that it survives a restart of the server.
use std::convert::Infallible;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use super::access_token::{AccessToken, random_hex_text};

const SESSION_LIFETIME_SECONDS: u64 = 30 * 24 * 60 * 60;
const SESSION_PURPOSE: &str = "session";
const CSRF_PURPOSE: &str = "csrf";

/// Whether the reader of a page may give orders. An extractor for every handler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SessionState {
    /// The value of the header `X-Ralph-CSRF`, if the browser has a session.
    pub csrf_token: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for SessionState {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

/// The session that a cookie names.
pub(super) struct BrowserSession {
    id: String,
}

impl BrowserSession {
    /// Creates a session and returns its `Set-Cookie` value.
    pub(super) fn create_cookie(token: &AccessToken) -> String {
        let id = format!("{}-{}", unix_seconds() + SESSION_LIFETIME_SECONDS, random_hex_text());
        let signature = token.sign(SESSION_PURPOSE, &id);
        let name = cookie_name(token);
        format!("{name}={id}-{signature}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_LIFETIME_SECONDS}")
    }

    /// Returns the session of the cookie in a request, if it is valid.
    pub(super) fn from_headers(token: &AccessToken, headers: &HeaderMap) -> Option<Self> {
        let name = cookie_name(token);
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut values = cookies.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        values.find_map(|(found, value)| (found == name).then(|| Self::parse(token, value)).flatten())
    }

    fn parse(token: &AccessToken, value: &str) -> Option<Self> {
        let (id, signature) = value.rsplit_once('-')?;
        let (expiry, _) = id.split_once('-')?;
        let is_signed = token.verify(SESSION_PURPOSE, id, signature);
        let is_fresh = expiry.parse::<u64>().ok()? > unix_seconds();
        (is_signed && is_fresh).then(|| Self { id: id.to_owned() })
    }

    /// Returns the value that a page sends back with an order.
    pub(super) fn csrf_token(&self, token: &AccessToken) -> String {
        token.sign(CSRF_PURPOSE, &self.id)
    }

    /// Compares the header of an order in constant time.
    pub(super) fn accepts_csrf(&self, token: &AccessToken, presented: &str) -> bool {
        token.verify(CSRF_PURPOSE, &self.id, presented)
    }
}

/// Cookies of different ports share one name space, so each project has its own name.
fn cookie_name(token: &AccessToken) -> String {
    let mark = token.sign("cookie", "name");
    format!("ralph_session_{}", mark.get(..8).unwrap_or(&mark))
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
