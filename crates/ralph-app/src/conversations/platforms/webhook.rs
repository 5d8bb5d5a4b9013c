//! Generic signed webhooks: JSON in both directions, signed with a shared secret over the time and the body.
use ralph_store::ConversationMessageRow;
use serde::Deserialize;
use serde_json::json;

use super::signed_request::{PlatformRequest, SignedRequest, sign_parts};
use crate::conversations::conversation_key::ConversationKey;
use crate::http_post::OutgoingRequest;
use crate::view::timestamp_json;

pub(super) fn sign(secret: &str, timestamp: &str, body: &str) -> String {
    sign_parts("v1", secret, &format!("{timestamp}.{body}"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IncomingBody {
    conversation_id: String,
    message: String,
    author: Option<String>,
}

/// Reads a message. The same request, sent again, is a repetition.
pub(super) fn read_message(request: &SignedRequest<'_>) -> Option<PlatformRequest> {
    let IncomingBody { conversation_id, message, author } = serde_json::from_str(request.body).ok()?;
    let author = author.map_or_else(|| "webhook".to_owned(), |author| format!("webhook user {author}"));
    let events = vec![request.signature.to_owned()];
    Some(PlatformRequest::Message { conversation: conversation_id, words: message, author, events })
}

pub(super) fn build_message(
    key: &ConversationKey,
    message: &ConversationMessageRow,
    secret: &str,
    now: i64,
) -> OutgoingRequest {
    let body = json!({
        "conversationId": key.id,
        "sequence": message.seq,
        "message": message.words,
        "timestamp": timestamp_json(message.at),
        "run": message.run,
    })
    .to_string();
    sign_request(body, secret, now)
}

/// Signs a message that is sent now, in Unix seconds.
pub(crate) fn sign_request(body: String, secret: &str, now: i64) -> OutgoingRequest {
    let timestamp = now.to_string();
    let signature = sign(secret, &timestamp, &body);
    OutgoingRequest { headers: vec![("X-Ralph-Timestamp", timestamp), ("X-Ralph-Signature", signature)], body }
}
