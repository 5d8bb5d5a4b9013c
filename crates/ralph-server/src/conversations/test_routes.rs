//! `/test/message` and `/test/messages/ID`: conversations without a token, for this machine only. They may start, read and
//! cancel; they never answer for a person. The security of the server refuses them where other machines can reach it.
use axum::Router;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Json;
use axum::routing::{get, post};
use ralph_app::conversations::MessageAuthor;
use serde_json::Value;

use super::message_json::{MessageBody, accept_message, get_messages};
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new().route("/test/message", post(post_message)).route("/test/messages/{id}", get(get_messages))
}

async fn post_message(
    State(context): State<SharedContext>,
    body: Result<Json<MessageBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    accept_message(&context, body, MessageAuthor { name: "test".to_owned(), may_answer: false }).await
}
