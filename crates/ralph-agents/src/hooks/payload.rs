//! The JSON that programs send to a hook: the union of their fields, in all spellings. An invalid field, a duplicate
//! name or a lone surrogate does not hide the other fields. Hand-written because a serde derive fails on any of these.
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookPayload {
    pub session_id: Option<String>,
    pub hook_event_name: Option<String>,
    pub transcript_path: Option<PathBuf>,
    pub cwd: Option<PathBuf>,
    pub prompt: Option<String>,
    pub last_assistant_message: Option<String>,
    pub prompt_response: Option<String>,
    pub stop_hook_active: Option<bool>,
    pub stop_reason: Option<String>,
    /// The id of the turn.
    pub prompt_id: Option<String>,
    pub message_id: Option<String>,
    /// The name of an error.
    pub error: Option<String>,
}

impl HookPayload {
    /// Parses the event of a program.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let read = serde_json::from_slice(bytes).or_else(|error| {
            let repaired = replace_lone_surrogates(&String::from_utf8_lossy(bytes));
            serde_json::from_str(&repaired).map_err(|_| error)
        });
        read.map(Self::from_fields)
    }

    /// If a field has several names, the first one with a valid value counts.
    fn from_fields(HookPayloadFields(mut fields): HookPayloadFields) -> Self {
        let mut take = |names: &[&str]| names.iter().find_map(|name| string_value(fields.remove(*name)?));
        let session_id = take(&["session_id", "sessionId"]);
        let hook_event_name = take(&["hook_event_name", "hookEventName", "event"]);
        let transcript_path = take(&["transcript_path", "transcriptPath"]).map(PathBuf::from);
        let cwd = take(&["cwd"]).map(PathBuf::from);
        let prompt = take(&["prompt"]);
        let last_assistant_message = take(&["last_assistant_message", "last_message"]);
        let prompt_response = take(&["prompt_response"]);
        let stop_reason = take(&["stop_reason", "stopReason"]);
        let prompt_id = take(&["prompt_id", "turn_id"]);
        let message_id = take(&["message_id"]);
        let is_active = ["stop_hook_active", "stopHookActive"];
        Self {
            session_id,
            hook_event_name,
            transcript_path,
            cwd,
            prompt,
            last_assistant_message,
            prompt_response,
            stop_reason,
            prompt_id,
            message_id,
            stop_hook_active: is_active.iter().find_map(|name| fields.get(*name)?.as_bool()),
            error: fields.remove("error").and_then(error_name),
        }
    }

    /// Returns the name of the error, or an empty string.
    pub(crate) fn into_error_name(self) -> String {
        self.error.unwrap_or_default()
    }

    /// Returns the session id, unless it is empty.
    #[must_use]
    pub fn non_empty_session_id(&self) -> Option<&str> {
        self.session_id.as_deref().map(str::trim).filter(|id| !id.is_empty())
    }
}

/// Returns the name of an error, which is a string or an object with a name.
fn error_name(error: Value) -> Option<String> {
    match error {
        Value::Object(mut fields) => string_value(fields.remove("name")?),
        other => string_value(other),
    }
}

fn string_value(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The field names that are read. Other fields may be large and are skipped.
const KNOWN_FIELD_NAMES: &[&str] = &[
    "session_id",
    "sessionId",
    "hook_event_name",
    "hookEventName",
    "event",
    "transcript_path",
    "transcriptPath",
    "cwd",
    "prompt",
    "last_assistant_message",
    "last_message",
    "prompt_response",
    "stop_hook_active",
    "stopHookActive",
    "stop_reason",
    "stopReason",
    "prompt_id",
    "message_id",
    "turn_id",
    "error",
];

/// The known fields of an event. If a name occurs twice, the first value counts.
struct HookPayloadFields(BTreeMap<&'static str, Value>);

impl<'de> Deserialize<'de> for HookPayloadFields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(HookFieldVisitor)
    }
}

struct HookFieldVisitor;

impl<'de> Visitor<'de> for HookFieldVisitor {
    type Value = HookPayloadFields;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HookPayloadFields, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match KNOWN_FIELD_NAMES.iter().find(|name| **name == key) {
                Some(name) => {
                    let value = map.next_value()?;
                    fields.entry(*name).or_insert(value);
                }
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(HookPayloadFields(fields))
    }
}

/// Replaces every lone surrogate escape. Programs write them when they truncate a text within a surrogate pair.
fn replace_lone_surrogates(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let length = match (surrogate_half(escape), escape.get(6..).and_then(surrogate_half)) {
            (Some(SurrogateHalf::High), Some(SurrogateHalf::Low)) => 12,
            (Some(SurrogateHalf::High | SurrogateHalf::Low), _) => {
                repaired.push(char::REPLACEMENT_CHARACTER);
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // The backslash and the character that it escapes.
            (None, _) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (kept, after) = escape.split_at(length);
        repaired.push_str(kept);
        rest = after;
    }
    repaired.push_str(rest);
    repaired
}

/// One half of a UTF-16 surrogate pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SurrogateHalf {
    High,
    Low,
}

fn surrogate_half(escape: &str) -> Option<SurrogateHalf> {
    let digits = escape.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(SurrogateHalf::High),
        0xdc00..=0xdfff => Some(SurrogateHalf::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: H9
    // fault: 108
    #[test]
    fn one_invalid_field_does_not_hide_the_others() {
        let text = br#"{"session_id":"s","stop_hook_active":"yes","error":7,"cwd":null,"new":[1,{}],"prompt":3}"#;
        let read = HookPayload::parse(text).unwrap();
        assert_eq!(
            (read.non_empty_session_id(), read.stop_hook_active, read.prompt.as_deref()),
            (Some("s"), None, None)
        );
        assert_eq!(HookPayload::parse(br#"{"sessionId":" "}"#).unwrap().non_empty_session_id(), None);
        for bad in ["", "{", "[]x", "null", "7", "[]", "{\"a\":\"\\ud83d", "\\", "\\u", "{\"\\ud8"] {
            assert!(HookPayload::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    // spec: H9
    // fault: 108
    #[test]
    fn a_repeated_field_does_not_hide_the_others() {
        let text = br#"{"event":{"id":1},"sessionId":"b","session_id":"a","session_id":"c","turn_id":"t","prompt_id":"p",
            "message_id":"m","hookEventName":"Old","hook_event_name":"Stop","stopHookActive":false,"stop_hook_active":true,
            "last_message":"y","last_assistant_message":"x","error":{"name":"AbortError","data":{}}}"#;
        let read = HookPayload::parse(text).unwrap();
        assert_eq!((read.non_empty_session_id(), read.hook_event_name.as_deref()), (Some("a"), Some("Stop")));
        assert_eq!((read.prompt_id.as_deref(), read.stop_hook_active), (Some("p"), Some(true)));
        assert_eq!(read.last_assistant_message.as_deref(), Some("x"));
        assert_eq!(read.into_error_name(), "AbortError");
        let read = HookPayload::parse(br#"{"session_id":7,"sessionId":"s","event":"idle"}"#).unwrap();
        assert_eq!((read.non_empty_session_id(), read.hook_event_name.as_deref()), (Some("s"), Some("idle")));
    }

    // spec: H9
    // fault: 108
    #[test]
    fn a_lone_surrogate_does_not_hide_the_other_fields() {
        let parse_message = |message: &[u8]| {
            let text = [br#"{"session_id":"s","last_message":""#, message, br#""}"#].concat();
            HookPayload::parse(&text).unwrap().last_assistant_message.unwrap()
        };
        assert_eq!(parse_message(br"a \ud83d"), "a \u{fffd}");
        assert_eq!(parse_message(br"\ude00 b \ud83d\n"), "\u{fffd} b \u{fffd}\n");
        assert_eq!(parse_message(br"\ud83d\ud83d\ude00 \\ud83d \u0041"), "\u{fffd}\u{1f600} \\ud83d A");
        assert_eq!(parse_message(b"a \xe4 \\\" \xf0\x9f"), "a \u{fffd} \" \u{fffd}");
    }

    proptest::proptest! {
        // spec: H9
        // fault: 108
        #[test]
        fn arbitrary_text_never_panics(text in ".*", escapes in "(\\\\|u|d8|3d|de00|\"|x){0,12}") {
            for text in [text, format!("{{\"session_id\":\"{escapes}\"}}")] {
                drop(HookPayload::parse(text.as_bytes()));
            }
        }
    }
}
