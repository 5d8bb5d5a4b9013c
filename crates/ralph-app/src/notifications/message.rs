//! A message as it is stored and sent. Every text in it is redacted and free of control characters.
use ralph_core::event::UnixMillis;
use ralph_core::notification::{DigestText, format_waiting_time};
use ralph_util::redact;
use ralph_util::sanitize::sanitize_text;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::view::timestamp_json;

/// The version of the JSON that webhooks and scripts get.
const MESSAGE_VERSION: u32 = 1;
/// A message lists at most so many events; it counts all.
const MAX_LISTED_ITEMS: usize = 20;

/// The description of an event, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MessageBody {
    /// The names of the event; the first is the usual one.
    pub events: Vec<String>,
    /// `run`, `task` or `workflow`.
    pub kind: String,
    pub subject: String,
    pub role: Option<String>,
    pub task: Option<String>,
    pub run: Option<String>,
    pub line: String,
    /// The commands that answer.
    pub commands: Vec<String>,
    /// The page of the server.
    pub page: String,
    /// Whether it waits for a person since then.
    pub waits: bool,
}

/// A stored event with the time since when it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MessageItem {
    /// Names the event; it is the same if the message is sent again.
    pub id: String,
    pub happened_at: UnixMillis,
    pub body: MessageBody,
}

/// A message to a target, with all events that it reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutgoingMessage {
    /// Names the message: a target that gets it twice can ignore the second.
    pub id: String,
    pub kind: MessageKind,
    /// The text for people.
    pub text: String,
    pub project: String,
    pub items: Vec<(MessageItem, Option<String>)>,
    pub now: UnixMillis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    Single,
    Digest,
    Test,
}

impl MessageKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Single => "notification",
            Self::Digest => "digest",
            Self::Test => "test",
        }
    }
}

impl MessageItem {
    /// Returns the text with the time that it waits, the command that answers and the link.
    fn to_text(&self, link: Option<&str>, now: UnixMillis) -> String {
        let mut text = self.body.line.clone();
        let waits = self.body.waits.then(|| format_waiting_time(now.elapsed_since(self.happened_at))).flatten();
        waits.iter().for_each(|waits| text.push_str(&format!(" · {waits}")));
        self.body.commands.first().iter().for_each(|command| text.push_str(&format!("\n{command}")));
        link.iter().for_each(|link| text.push_str(&format!("\n{link}")));
        text
    }

    fn to_json(&self, link: Option<&str>) -> Value {
        let MessageBody { events, kind, subject, role, task, run, line, commands, page: _, waits: _ } = &self.body;
        json!({
            "id": self.id, "event": events.first(), "events": events, "kind": kind, "subject": subject, "role": role,
            "task": task, "run": run, "text": line, "commands": commands, "link": link,
            "happened_at": timestamp_json(self.happened_at.0),
        })
    }
}

impl OutgoingMessage {
    /// Returns the message about one event, or one message about several. `link` is the address of the server.
    pub(super) fn about(
        items: &[MessageItem],
        kind: MessageKind,
        project: &str,
        link: Option<&str>,
        now: UnixMillis,
    ) -> Self {
        let link_of = |item: &MessageItem| link.map(|link| format!("{link}{}", item.body.page));
        let items: Vec<(MessageItem, Option<String>)> =
            items.iter().map(|item| (item.clone(), link_of(item))).collect();
        let lines: Vec<String> = items.iter().map(|(item, link)| item.to_text(link.as_deref(), now)).collect();
        let text = match (kind, lines.as_slice()) {
            (MessageKind::Single | MessageKind::Test, [line]) => line.clone(),
            _ => DigestText { project, lines: &lines }.to_text(),
        };
        let id = items.last().map(|(item, _)| item.id.clone()).unwrap_or_default();
        let id = if items.len() > 1 { format!("{id}+{}", items.len() - 1) } else { id };
        Self { id, kind, text: clean_text(&text), project: clean_text(project), items, now }
    }

    /// Returns the JSON for webhooks and scripts.
    pub(super) fn to_json(&self) -> String {
        let items: Vec<Value> =
            self.items.iter().take(MAX_LISTED_ITEMS).map(|(item, link)| item.to_json(link.as_deref())).collect();
        let value = json!({
            "version": MESSAGE_VERSION,
            "id": self.id,
            "type": self.kind.as_str(),
            "project": self.project,
            "text": self.text,
            "count": self.items.len(),
            "items": items,
            "sent_at": timestamp_json(self.now.0),
        });
        redact::redact_text(&value.to_string()).into_owned()
    }
}

/// Returns a text without secrets and control characters.
pub(super) fn clean_text(text: &str) -> String {
    sanitize_text(&redact::redact_text(text))
}
