//! Conversations: a message starts a workflow or gives a command, and the messages of the workflow's run come back. Nothing
//! that fails here changes a run.
mod agent_output;
mod answer_command;
mod conversation_key;
mod delivery;
mod feed_queue;
mod hub;
mod observer;
pub(crate) mod platforms;
mod receive;
mod reply_text;
mod run_feed;
mod run_message;
mod run_status;

pub use conversation_key::{ConversationKey, Platform};
pub use hub::ConversationHub;
pub use platforms::signed_request::{PlatformRequest, SignatureError, SignedRequest};
pub use receive::{IncomingMessage, MessageAuthor, MessageOutcome};
