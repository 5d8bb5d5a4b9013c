//! Sends one message over one channel.
use std::time::Duration;

use ralph_core::notification::DeliveryFailure;
use ralph_engine::run_driver::Clock;
use serde_json::json;

use super::desktop::show_on_desktop;
use super::message::OutgoingMessage;
use super::notifier::Notifier;
use super::outbox::temporary;
use super::script::run_script;
use crate::config::{NotifyAddress, NotifyChannel, NotifyTarget};
use crate::conversations::platforms::{slack, webhook};
use crate::error::AppError;
use crate::http_post::{OutgoingRequest, PostError, PostTarget};

/// Why a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SendError {
    pub failure: DeliveryFailure,
    pub message: String,
}

impl Notifier {
    /// Sends a message once, within a time limit.
    pub(super) async fn send_message(
        &self,
        target: &NotifyTarget,
        message: &OutgoingMessage,
        timeout: Duration,
    ) -> Result<(), SendError> {
        match &target.channel {
            NotifyChannel::Desktop => show_on_desktop(&self.host, message, timeout).await,
            NotifyChannel::Webhook { address, secret_env } => {
                let secret = read_variable(secret_env)?;
                let now = Clock::wall_now().0 / 1000;
                let mut request = webhook::sign_request(message.to_json(), &secret, now);
                request.headers.push(("X-Ralph-Delivery", message.id.clone()));
                post(&target.name, address, request, timeout).await
            }
            NotifyChannel::Slack { address } => {
                let body = json!({ "text": slack::escape_text(&message.text) }).to_string();
                post(&target.name, address, OutgoingRequest { headers: Vec::new(), body }, timeout).await
            }
            NotifyChannel::Script { command } => {
                run_script(&self.project.root, command, message.to_json(), timeout).await
            }
        }
    }
}

async fn post(
    name: &str,
    address: &NotifyAddress,
    request: OutgoingRequest,
    timeout: Duration,
) -> Result<(), SendError> {
    let address = match address {
        NotifyAddress::Url(url) => url.clone(),
        NotifyAddress::Variable(variable) => read_variable(variable)?,
    };
    let target = PostTarget::open(name, &address).map_err(|error: AppError| temporary(error.to_string()))?;
    target
        .post(request, timeout)
        .await
        .map_err(|error| SendError { failure: failure_of(&error), message: error.to_string() })
}

/// A redirect or a refusal will be the same next time; a server that is busy or broken may recover.
fn failure_of(error: &PostError) -> DeliveryFailure {
    match error {
        PostError::Connection(_) | PostError::Status(408 | 425 | 429 | 500..) => DeliveryFailure::Temporary,
        PostError::Status(_) => DeliveryFailure::Permanent,
    }
}

/// Reads a variable that names a secret. Another process may have it.
fn read_variable(name: &str) -> Result<String, SendError> {
    let value = std::env::var(name).ok().map(|value| value.trim().to_owned());
    value
        .filter(|value| !value.is_empty())
        .ok_or_else(|| temporary(format!("the environment variable {name} is not set in this process")))
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U7
    #[test]
    fn a_busy_or_broken_server_is_tried_again_and_a_refusal_or_redirect_is_not() {
        for status in [408, 429, 500, 502, 503, 599] {
            assert_eq!(failure_of(&PostError::Status(status)), DeliveryFailure::Temporary, "{status}");
        }
        for status in [301, 302, 307, 400, 401, 403, 404, 410] {
            assert_eq!(failure_of(&PostError::Status(status)), DeliveryFailure::Permanent, "{status}");
        }
        assert_eq!(failure_of(&PostError::Connection("refused".to_owned())), DeliveryFailure::Temporary);
    }
}
