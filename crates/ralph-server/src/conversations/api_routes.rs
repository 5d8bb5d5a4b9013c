//! `/api/conversations`: the same as `/test`, for requests with a token. A person with the token may answer questions.
use axum::Router;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Json;
use axum::routing::{get, post};
use ralph_app::conversations::{ConversationKey, MessageAuthor};
use ralph_app::view::timestamp_json;
use serde_json::{Value, json};

use super::message_json::{MessageBody, accept_message, get_messages};
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
    let author = MessageAuthor { name: context.conversations.local_person(), may_answer: true };
    accept_message(&context, body, author).await
}
