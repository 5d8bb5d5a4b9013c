//! `/hooks/slack` and `/hooks/webhook`: signed requests of platforms. The signature takes the place of a token.
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::post;
use ralph_app::conversations::{
    ConversationKey, MessageAuthor, Platform, PlatformRequest, SignatureError, SignedRequest,
};
use serde_json::json;

use super::drive_runs::receive_message;
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new().route("/hooks/slack", post(receive_slack)).route("/hooks/webhook", post(receive_webhook))
}

async fn receive_slack(
    State(context): State<SharedContext>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let names = HeaderNames { timestamp: "x-slack-request-timestamp", signature: "x-slack-signature" };
    receive(&context, Platform::Slack, &names.read(&headers), &body).await
}

async fn receive_webhook(
    State(context): State<SharedContext>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Problem> {
    let names = HeaderNames { timestamp: "x-ralph-timestamp", signature: "x-ralph-signature" };
    receive(&context, Platform::Webhook, &names.read(&headers), &body).await
}

/// The headers of a platform.
struct HeaderNames {
    timestamp: &'static str,
    signature: &'static str,
}

struct SignatureHeaders {
    timestamp: String,
    signature: String,
}

impl HeaderNames {
    fn read(&self, headers: &HeaderMap) -> SignatureHeaders {
        let read = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        SignatureHeaders { timestamp: read(self.timestamp), signature: read(self.signature) }
    }
}

async fn receive(
    context: &SharedContext,
    platform: Platform,
    headers: &SignatureHeaders,
    body: &Bytes,
) -> Result<Response, Problem> {
    let body = std::str::from_utf8(body).map_err(|_| signature_problem(SignatureError::Unreadable))?;
    let signed = SignedRequest { timestamp: &headers.timestamp, signature: &headers.signature, body };
    let request = context.conversations.read_request(platform, &signed).map_err(signature_problem)?;
    let (conversation, words, author, events) = match request {
        PlatformRequest::Challenge { text } => return Ok(Json(json!({ "challenge": text })).into_response()),
        PlatformRequest::Ignored => return Ok(Json(json!({ "ok": true, "ignored": true })).into_response()),
        PlatformRequest::Message { conversation, words, author, events } => (conversation, words, author, events),
    };
    let refuse = |error| Problem::from_app_error(context, &error);
    let key = ConversationKey::new(platform, &conversation).map_err(refuse)?;
    if !context.conversations.record_request(platform, &events).await.map_err(refuse)? {
        return Ok(Json(json!({ "ok": true, "repeated": true })).into_response());
    }
    let author = MessageAuthor { name: author, may_answer: true };
    let context = std::sync::Arc::clone(context);
    // A platform sends a request again that is not answered within seconds.
    tokio::spawn(async move {
        let failed = receive_message(&context, key.clone(), words, author).await.err();
        if let Some(error) = failed {
            // Without the store, no conversation exists that could show the error.
            let _ = context.conversations.report_failure(&key, &format!("error: {error}")).await;
        }
    });
    Ok((StatusCode::ACCEPTED, Json(json!({ "ok": true }))).into_response())
}

fn signature_problem(error: SignatureError) -> Problem {
    let status = match error {
        SignatureError::NotConnected(_) => StatusCode::NOT_FOUND,
        SignatureError::NotCurrent | SignatureError::WrongSignature => StatusCode::UNAUTHORIZED,
        SignatureError::Unreadable => StatusCode::BAD_REQUEST,
    };
    Problem::new(status, error.to_string())
}
