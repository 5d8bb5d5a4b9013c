//! What programs write to a hook, all of them together: each fills some of it, in its own spelling.
use std::path::PathBuf;

use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Payload {
    #[serde(alias = "sessionId", deserialize_with = "lenient")]
    pub session_id: Option<String>,
    #[serde(alias = "hookEventName", alias = "event", deserialize_with = "lenient")]
    pub hook_event_name: Option<String>,
    #[serde(alias = "transcriptPath", deserialize_with = "lenient")]
    pub transcript_path: Option<PathBuf>,
    #[serde(deserialize_with = "lenient")]
    pub cwd: Option<PathBuf>,
    #[serde(deserialize_with = "lenient")]
    pub prompt: Option<String>,
    #[serde(alias = "last_message", deserialize_with = "lenient")]
    pub last_assistant_message: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub prompt_response: Option<String>,
    #[serde(alias = "stopHookActive", deserialize_with = "lenient")]
    pub stop_hook_active: Option<bool>,
    #[serde(alias = "stopReason", deserialize_with = "lenient")]
    pub stop_reason: Option<String>,
    /// What tells one turn from another.
    #[serde(alias = "turn_id", alias = "message_id", deserialize_with = "lenient")]
    pub prompt_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub error: Option<Trouble>,
}

/// An error, by its name alone or with more.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Trouble {
    Name(String),
    More {
        #[serde(default)]
        name: String,
    },
}

impl Trouble {
    pub(super) fn name(self) -> String {
        match self {
            Self::Name(name) | Self::More { name } => name,
        }
    }
}

impl Payload {
    /// Reads what a program wrote.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// Returns the session, unless its name is empty.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session_id.as_deref().map(str::trim).filter(|id| !id.is_empty())
    }
}

/// Takes nothing for what is of another kind than it should be: one odd field does not make the others unreadable.
fn lenient<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either<T> {
        Meant(T),
        Odd(serde::de::IgnoredAny),
    }
    Ok(match Option::<Either<T>>::deserialize(from)? {
        Some(Either::Meant(value)) => Some(value),
        Some(Either::Odd(_)) | None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: H9
    // fault: 108
    #[test]
    fn one_odd_field_does_not_hide_the_others() {
        let text =
            br#"{"session_id":"s","stop_hook_active":"yes","error":7,"cwd":null,"new":[1,{}],"prompt":3}"#;
        let read = Payload::parse(text).unwrap();
        assert_eq!((read.session(), read.stop_hook_active, read.prompt.as_deref()), (Some("s"), None, None));
        assert_eq!(Payload::parse(br#"{"sessionId":" "}"#).unwrap().session(), None);
        for bad in ["", "{", "[]x", "null", "7"] {
            assert!(Payload::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
