//! Conversations over HTTP: the JSON of a message that ralph receives, and of those that it has written.
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::response::Json;
use ralph_app::conversations::{ConversationKey, MessageAuthor, Platform};
use ralph_app::view::timestamp_json;
use ralph_store::ConversationMessageRow;
use serde::Deserialize;
use serde_json::{Value, json};

use super::drive_runs::receive_message;
use crate::context::{ServerContext, SharedContext};
use crate::problem::Problem;

/// A message to ralph.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MessageBody {
    pub conversation_id: String,
    pub message: String,
}

/// Receives a message of this author.
pub(super) async fn accept_message(
    context: &SharedContext,
    body: Result<Json<MessageBody>, JsonRejection>,
    author: MessageAuthor,
) -> Result<Json<Value>, Problem> {
    let Json(MessageBody { conversation_id, message }) = body.map_err(|error| json_problem(&error))?;
    let key = http_conversation(context, &conversation_id)?;
    let received = receive_message(context, key, message.clone(), author).await;
    received.map_err(|error| Problem::from_app_error(context, &error))?;
    Ok(Json(json!({ "success": true, "conversationId": conversation_id, "message": message })))
}

/// Returns what ralph has written in the conversation with this id.
pub(super) async fn get_messages(
    State(context): State<SharedContext>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let key = http_conversation(&context, &id)?;
    read_conversation(&context, &key).await.map(Json)
}

fn http_conversation(context: &ServerContext, id: &str) -> Result<ConversationKey, Problem> {
    ConversationKey::new(Platform::Http, id).map_err(|error| Problem::from_app_error(context, &error))
}

/// Describes a body that is not the JSON of a message.
fn json_problem(error: &JsonRejection) -> Problem {
    Problem::new(error.status(), error.body_text())
}

async fn read_conversation(context: &ServerContext, key: &ConversationKey) -> Result<Value, Problem> {
    let messages = context.conversations.list_messages(key).await;
    let messages = messages.map_err(|error| Problem::from_app_error(context, &error))?;
    let replies = messages.iter().filter(|message| message.author.is_none());
    let replies: Vec<Value> = replies.map(message_json).collect();
    Ok(json!({ "conversationId": key.id, "messages": replies }))
}

fn message_json(message: &ConversationMessageRow) -> Value {
    json!({ "message": message.words, "timestamp": timestamp_json(message.at) })
}
