//! A request of a platform: it counts only with a current signature of the shared secret.
use ralph_core::conversation::is_current_request;
use ralph_engine::run_driver::Clock;
use ralph_util::hmac::{is_same_signature, sign_hex};

use super::{slack, webhook};
use crate::conversations::conversation_key::Platform;
use crate::conversations::hub::ConversationHub;

/// A request as it was received.
#[derive(Debug, Clone, Copy)]
pub struct SignedRequest<'a> {
    /// When it was signed, in Unix seconds, as the header says.
    pub timestamp: &'a str,
    pub signature: &'a str,
    pub body: &'a str,
}

/// The request of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlatformRequest {
    /// The platform checks the address: the answer is this text.
    Challenge { text: String },
    Message {
        /// The conversation on the platform.
        conversation: String,
        words: String,
        author: String,
        /// The names of this message: a request with one of them is a repetition.
        events: Vec<String>,
    },
    /// A request that needs no answer, such as ralph's own message.
    Ignored,
}

/// Why a request does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the platform {} is not connected", .0.as_str())]
    NotConnected(Platform),
    #[error("the time of the signature is missing or not current")]
    NotCurrent,
    #[error("the signature is wrong")]
    WrongSignature,
    #[error("the request is not a message of this platform")]
    Unreadable,
}

impl ConversationHub {
    /// Checks the signature of a request and reads it.
    pub fn read_request(
        &self,
        platform: Platform,
        request: &SignedRequest<'_>,
    ) -> Result<PlatformRequest, SignatureError> {
        let secret = self.endpoint(platform).and_then(|endpoint| endpoint.secret.as_deref());
        let secret = secret.ok_or(SignatureError::NotConnected(platform))?;
        check_signature(platform, secret, request, Clock::wall_now().0 / 1000)?;
        let read = match platform {
            Platform::Http => None,
            Platform::Slack => slack::read_event(request.body),
            Platform::Webhook => webhook::read_message(request),
        };
        read.ok_or(SignatureError::Unreadable)
    }
}

fn check_signature(
    platform: Platform,
    secret: &str,
    request: &SignedRequest<'_>,
    now: i64,
) -> Result<(), SignatureError> {
    let signed_at = request.timestamp.parse::<i64>().map_err(|_| SignatureError::NotCurrent)?;
    if !is_current_request(signed_at, now) {
        return Err(SignatureError::NotCurrent);
    }
    let expected = match platform {
        Platform::Slack => slack::sign(secret, request.timestamp, request.body),
        Platform::Http | Platform::Webhook => webhook::sign(secret, request.timestamp, request.body),
    };
    if is_same_signature(&expected, request.signature) { Ok(()) } else { Err(SignatureError::WrongSignature) }
}

/// Signs the parts with a separator, after the version of the scheme.
pub(super) fn sign_parts(version: &str, secret: &str, signed: &str) -> String {
    format!("{version}={}", sign_hex(secret.as_bytes(), signed.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W9, X2
    #[test]
    fn a_request_counts_only_with_a_current_signature_of_its_own_time_and_body() {
        let signature = slack::sign("secret", "1000", "body");
        let request = SignedRequest { timestamp: "1000", signature: &signature, body: "body" };
        let check = |request: &SignedRequest<'_>, now| check_signature(Platform::Slack, "secret", request, now);
        assert_eq!(check(&request, 1300), Ok(()));
        assert_eq!(check(&request, 1301), Err(SignatureError::NotCurrent));
        let later = SignedRequest { timestamp: "1200", ..request };
        assert_eq!(check(&later, 1300), Err(SignatureError::WrongSignature));
        let other = SignedRequest { body: "other", ..request };
        assert_eq!(check(&other, 1300), Err(SignatureError::WrongSignature));
        let unsigned = SignedRequest { timestamp: "", signature: "", ..request };
        assert_eq!(check(&unsigned, 1300), Err(SignatureError::NotCurrent));
        assert_eq!(
            check_signature(Platform::Webhook, "secret", &request, 1300),
            Err(SignatureError::WrongSignature),
            "the schemes differ"
        );
    }
}
