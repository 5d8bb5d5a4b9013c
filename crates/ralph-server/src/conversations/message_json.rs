//! The JSON of conversations.
use ralph_app::conversations::ConversationKey;
use ralph_app::view::timestamp_json;
use ralph_store::ConversationMessageRow;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::ServerContext;
use crate::problem::Problem;

/// A message to ralph.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MessageBody {
    pub conversation_id: String,
    pub message: String,
}

/// Returns what ralph has written in a conversation.
pub(super) async fn read_conversation(context: &ServerContext, key: &ConversationKey) -> Result<Value, Problem> {
    let messages = context.conversations.list_messages(key).await;
    let messages = messages.map_err(|error| Problem::from_app_error(context, &error))?;
    let replies = messages.iter().filter(|message| message.author.is_none());
    let replies: Vec<Value> = replies.map(message_json).collect();
    Ok(json!({ "conversationId": key.id, "messages": replies }))
}

fn message_json(message: &ConversationMessageRow) -> Value {
    json!({ "message": message.words, "timestamp": timestamp_json(message.at) })
}
