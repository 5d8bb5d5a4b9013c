//! Posts JSON to addresses of the configuration: platforms of conversations and targets of notifications. It follows no redirects,
//! and its errors do not contain the address, which may be secret.
use std::time::Duration;

use ralph_engine::http_client::{build_http_client, describe_http_error};
use reqwest::{Client, Url};

use crate::config::validate_address;
use crate::error::{AppError, AppResult};

/// The address of a server that receives messages.
pub(crate) struct PostTarget {
    client: Client,
    url: Url,
}

/// A message with its signature.
pub(crate) struct OutgoingRequest {
    pub headers: Vec<(&'static str, String)>,
    pub body: String,
}

/// Why a message did not arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PostError {
    #[error("{0}")]
    Connection(String),
    #[error("HTTP status {0}")]
    Status(u16),
}

impl PostTarget {
    /// `name` names the address in errors.
    pub(crate) fn open(name: &str, address: &str) -> AppResult<Self> {
        let refuse = |reason: String| AppError::preflight(format!("the address of {name} cannot be used: {reason}"));
        validate_address(address).map_err(refuse)?;
        // The error must not repeat the address.
        let url = Url::parse(address).map_err(|_| refuse("it is not a URL".to_owned()))?;
        let client = build_http_client(&url).map_err(refuse)?;
        Ok(Self { client, url })
    }

    /// Sends a message once.
    pub(crate) async fn post(&self, request: OutgoingRequest, timeout: Duration) -> Result<(), PostError> {
        let mut sending =
            self.client.post(self.url.clone()).timeout(timeout).header("Content-Type", "application/json");
        for (name, value) in request.headers {
            sending = sending.header(name, value);
        }
        let answer = sending.body(request.body).send().await;
        let answer = answer.map_err(|error| match error.is_timeout() {
            true => PostError::Connection("it did not answer in time".to_owned()),
            false => PostError::Connection(describe_http_error(&error)),
        })?;
        match answer.status().is_success() {
            true => Ok(()),
            false => Err(PostError::Status(answer.status().as_u16())),
        }
    }
}
