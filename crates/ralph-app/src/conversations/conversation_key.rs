//! The name of a conversation: its platform, and the name that it has there.
use crate::error::{AppError, AppResult};

/// Where a conversation takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Platform {
    /// Requests to this server: readers fetch the messages.
    Http,
    Slack,
    /// Signed requests in both directions.
    Webhook,
}

impl Platform {
    pub(super) const ALL: [Self; 3] = [Self::Http, Self::Slack, Self::Webhook];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Slack => "slack",
            Self::Webhook => "webhook",
        }
    }
}

/// A longer name is a mistake.
const MAX_ID_BYTES: usize = 200;

/// A conversation. A platform cannot name the conversations of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationKey {
    pub platform: Platform,
    /// The name on the platform.
    pub id: String,
}

impl ConversationKey {
    pub fn new(platform: Platform, id: &str) -> AppResult<Self> {
        if id.trim().is_empty() || id.len() > MAX_ID_BYTES || id.chars().any(char::is_control) {
            return Err(AppError::invalid_request(format!(
                "a conversation id has 1 to {MAX_ID_BYTES} bytes and no control characters"
            )));
        }
        Ok(Self { platform, id: id.to_owned() })
    }

    /// Returns the name under which it is stored.
    #[must_use]
    pub fn to_stored(&self) -> String {
        format!("{}/{}", self.platform.as_str(), self.id)
    }

    /// Reads the name under which a conversation is stored.
    #[must_use]
    pub fn from_stored(stored: &str) -> Option<Self> {
        let (name, id) = stored.split_once('/')?;
        let platform = Platform::ALL.into_iter().find(|platform| platform.as_str() == name)?;
        Some(Self { platform, id: id.to_owned() })
    }
}
