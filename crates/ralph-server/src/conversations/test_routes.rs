//! `/test/message` and `/test/messages/ID`: conversations without a token, for this machine only. They may start, read and
//! cancel; they never answer for a person. The security
//! of the server refuses them where other machines can reach it.
use axum::Router;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::Json;
use axum::routing::{get, post};
use ralph_app::conversations::{ConversationKey, MessageAuthor, Platform};
use serde_json::{Value, json};

use super::drive_runs::receive_message;
use super::message_json::{MessageBody, read_conversation};
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new().route("/test/message", post(post_message)).route("/test/messages/{id}", get(get_messages))
}

async fn post_message(
    State(context): State<SharedContext>,
    body: Result<Json<MessageBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let Json(MessageBody { conversation_id, message }) = body.map_err(|error| json_problem(&error))?;
    let key = ConversationKey::new(Platform::Http, &conversation_id);
    let key = key.map_err(|error| Problem::from_app_error(&context, &error))?;
    let author = MessageAuthor { name: "test".to_owned(), may_answer: false };
    let received = receive_message(&context, key, message.clone(), author).await;
    received.map_err(|error| Problem::from_app_error(&context, &error))?;
    Ok(Json(json!({ "success": true, "conversationId": conversation_id, "message": message })))
}

async fn get_messages(State(context): State<SharedContext>, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let key = ConversationKey::new(Platform::Http, &id);
    let key = key.map_err(|error| Problem::from_app_error(&context, &error))?;
    read_conversation(&context, &key).await.map(Json)
}

/// Describes a body that is not the JSON of a message.
pub(super) fn json_problem(error: &JsonRejection) -> Problem {
    Problem::new(error.status(), error.body_text())
}
