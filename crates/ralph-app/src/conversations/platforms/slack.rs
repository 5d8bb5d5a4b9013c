//! The protocol of Slack: Events API in, incoming webhook out. A thread is a conversation.
use serde::Deserialize;
use serde_json::json;

use super::signed_request::{PlatformRequest, sign_parts};
use crate::conversations::conversation_key::ConversationKey;
use crate::http_post::OutgoingRequest;

pub(super) fn sign(secret: &str, timestamp: &str, body: &str) -> String {
    sign_parts("v0", secret, &format!("v0:{timestamp}:{body}"))
}

#[derive(Deserialize)]
struct EventEnvelope {
    #[serde(rename = "type")]
    kind: String,
    challenge: Option<String>,
    event_id: Option<String>,
    event: Option<MessageEvent>,
}

#[derive(Deserialize)]
struct MessageEvent {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    bot_id: Option<String>,
    user: Option<String>,
    text: Option<String>,
    channel: Option<String>,
    ts: Option<String>,
    thread_ts: Option<String>,
}

/// Reads a request of the Events API.
pub(super) fn read_event(body: &str) -> Option<PlatformRequest> {
    let EventEnvelope { kind, challenge, event_id, event } = serde_json::from_str(body).ok()?;
    if kind == "url_verification" {
        return challenge.map(|text| PlatformRequest::Challenge { text });
    }
    let Some(event) = event.filter(MessageEvent::is_from_person) else { return Some(PlatformRequest::Ignored) };
    let (channel, ts) = (event.channel?, event.ts?);
    let thread = event.thread_ts.unwrap_or_else(|| ts.clone());
    // A mention arrives twice: as `message` and as `app_mention`, with different ids.
    let events = event_id.into_iter().chain([format!("{channel}:{ts}")]).collect();
    Some(PlatformRequest::Message {
        conversation: format!("{channel}:{thread}"),
        words: read_text(&event.text.unwrap_or_default()),
        author: format!("slack user {}", event.user.unwrap_or_default()),
        events,
    })
}

impl MessageEvent {
    /// Messages of bots include those of ralph; changes and deletions have a subtype.
    fn is_from_person(&self) -> bool {
        let is_message = matches!(self.kind.as_str(), "message" | "app_mention");
        is_message && self.bot_id.is_none() && self.subtype.is_none() && self.user.is_some()
    }
}

/// Returns the text without the mention of ralph at its beginning.
fn read_text(text: &str) -> String {
    let text = text.trim();
    let mention = text.strip_prefix("<@").and_then(|rest| rest.split_once('>'));
    let text = mention.map_or(text, |(_, rest)| rest.trim());
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Builds a message in the thread of a conversation. Agents cannot mention people or channels in it.
pub(super) fn build_message(key: &ConversationKey, words: &str) -> OutgoingRequest {
    let text = escape_text(words);
    let body = match key.id.split_once(':') {
        Some((channel, thread)) => json!({ "channel": channel, "thread_ts": thread, "text": text }),
        None => json!({ "text": text }),
    };
    OutgoingRequest { headers: Vec::new(), body: body.to_string() }
}

/// Escapes text so that it contains no mentions and no links.
pub(crate) fn escape_text(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversations::conversation_key::Platform;

    // spec: W9
    #[test]
    fn a_mention_in_a_thread_is_a_message_of_the_conversation_of_the_thread() {
        let body = r#"{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention","user":"U1",
            "text":"<@U0> run ralph &amp; wait","ts":"2.2","thread_ts":"1.1","channel":"C1"}}"#;
        let expected = PlatformRequest::Message {
            conversation: "C1:1.1".to_owned(),
            words: "run ralph & wait".to_owned(),
            author: "slack user U1".to_owned(),
            events: vec!["Ev1".to_owned(), "C1:2.2".to_owned()],
        };
        assert_eq!(read_event(body), Some(expected));
    }

    // spec: W9
    #[test]
    fn messages_of_bots_changes_and_other_events_are_ignored() {
        for event in [
            r#"{"type":"message","bot_id":"B1","user":"U1","text":"x","ts":"1","channel":"C"}"#,
            r#"{"type":"message","subtype":"message_changed","user":"U1","ts":"1","channel":"C"}"#,
            r#"{"type":"reaction_added","user":"U1"}"#,
        ] {
            let body = format!(r#"{{"type":"event_callback","event_id":"E","event":{event}}}"#);
            assert_eq!(read_event(&body), Some(PlatformRequest::Ignored), "{event}");
        }
        assert_eq!(read_event("[]"), None);
    }

    // spec: W9, X1
    #[test]
    fn words_of_agents_mention_nobody() {
        let key = ConversationKey::new(Platform::Slack, "C1:1.1").unwrap();
        let body = build_message(&key, "<!channel> a && b").body;
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&body).unwrap(),
            json!({ "channel": "C1", "thread_ts": "1.1", "text": "&lt;!channel&gt; a &amp;&amp; b" })
        );
    }
}
