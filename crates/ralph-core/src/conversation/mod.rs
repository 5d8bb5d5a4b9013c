//! The rules of conversations: what a message asks for, how often a message is sent, and which signed requests are current.
mod request_window;
mod router;
mod send_retry;

pub use request_window::{REQUEST_WINDOW_SECONDS, is_current_request};
pub use router::{AnswerCommand, ConversationOrder, WorkflowPhrases, route_message};
pub use send_retry::{MessagePriority, send_retry_delay_ms};
