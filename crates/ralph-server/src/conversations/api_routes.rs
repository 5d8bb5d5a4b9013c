//! `/api/conversations`: the same as `/test`, for requests with a token. A person with the token may answer questions.
use axum::Router;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::Json;
use axum::routing::{get, post};
use ralph_app::conversations::{ConversationKey, MessageAuthor, Platform};
use ralph_app::view::timestamp_json;
use serde_json::{Value, json};

use super::drive_runs::receive_message;
use super::message_json::{MessageBody, read_conversation};
use super::test_routes::json_problem;
use crate::context::SharedContext;
use crate::problem::Problem;

pub(super) fn routes() -> Router<SharedContext> {
    Router::new()
        .route("/api/conversations", get(list_conversations))
        .route("/api/conversations/message", post(post_message))
        .route("/api/conversations/messages/{id}", get(get_messages))
}

async fn list_conversations(State(context): State<SharedContext>) -> Result<Json<Value>, Problem> {
    let found = context.conversations.list_conversations().await;
    let found = found.map_err(|error| Problem::from_app_error(&context, &error))?;
    let list = found.iter().filter_map(|row| {
        let key = ConversationKey::from_stored(&row.conversation)?;
        Some(json!({ "platform": key.platform.as_str(), "conversationId": key.id, "messages": row.messages,
            "last_message_at": timestamp_json(row.last_at) }))
    });
    Ok(Json(list.collect()))
}

async fn post_message(
    State(context): State<SharedContext>,
    body: Result<Json<MessageBody>, JsonRejection>,
) -> Result<Json<Value>, Problem> {
    let Json(MessageBody { conversation_id, message }) = body.map_err(|error| json_problem(&error))?;
    let key = ConversationKey::new(Platform::Http, &conversation_id);
    let key = key.map_err(|error| Problem::from_app_error(&context, &error))?;
    let author = MessageAuthor { name: context.conversations.local_person(), may_answer: true };
    let received = receive_message(&context, key, message.clone(), author).await;
    received.map_err(|error| Problem::from_app_error(&context, &error))?;
    Ok(Json(json!({ "success": true, "conversationId": conversation_id, "message": message })))
}

async fn get_messages(State(context): State<SharedContext>, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let key = ConversationKey::new(Platform::Http, &id);
    let key = key.map_err(|error| Problem::from_app_error(&context, &error))?;
    read_conversation(&context, &key).await.map(Json)
}
