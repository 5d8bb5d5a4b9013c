//! A target of notifications: where messages are sent, which ones and when. Addresses that are secret, and secrets, are named by
//! their environment variables and never stored.
use ralph_core::notification::{DeliverySchedule, NotificationRule};
use serde_json::{Value, json};

use crate::config::settings::all_settings::Settings;
use crate::config::settings::origin::SettingOrigin;
use crate::config::settings::project_commands::ProjectCommand;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyTarget {
    /// Unique; the default is the kind.
    pub name: String,
    pub channel: NotifyChannel,
    pub rule: NotificationRule,
    pub schedule: DeliverySchedule,
    /// The address under which the person who reads the messages reaches `ralph serve`.
    pub link: Option<String>,
    pub origin: SettingOrigin,
}

/// How messages reach a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyChannel {
    /// The terminal of the process, and `notify-send`.
    Desktop,
    /// JSON, signed with a shared secret.
    Webhook { address: NotifyAddress, secret_env: String },
    /// An incoming webhook of Slack, or of a program that speaks its protocol.
    Slack { address: NotifyAddress },
    /// A program that reads JSON from its standard input. No shell is involved.
    Script { command: Vec<String> },
}

/// An address, or the variable that contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyAddress {
    Url(String),
    Variable(String),
}

impl NotifyChannel {
    pub(in crate::config) const NAMES: [&'static str; 4] = ["desktop", "webhook", "slack", "script"];

    /// Returns the value of the key `kind`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Webhook { .. } => "webhook",
            Self::Slack { .. } => "slack",
            Self::Script { .. } => "script",
        }
    }
}

impl NotifyAddress {
    fn key(&self) -> (&'static str, &str) {
        match self {
            Self::Url(url) => ("url", url),
            Self::Variable(variable) => ("url_env", variable),
        }
    }
}

impl NotifyTarget {
    /// Returns the target as it would be written.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let events: Vec<&str> = self.rule.events.iter().map(|event| event.as_str()).collect();
        let runs: Vec<&str> = self.rule.subjects.iter().map(|subject| subject.as_str()).collect();
        let mut value = json!({ "name": self.name, "kind": self.channel.kind(), "on": events, "runs": runs });
        let mut set = |key: &str, part: Value| {
            if let Some(table) = value.as_object_mut() {
                table.insert(key.to_owned(), part);
            }
        };
        match &self.channel {
            NotifyChannel::Desktop => {}
            NotifyChannel::Webhook { address, secret_env } => {
                set(address.key().0, json!(address.key().1));
                set("secret_env", json!(secret_env));
            }
            NotifyChannel::Slack { address } => set(address.key().0, json!(address.key().1)),
            NotifyChannel::Script { command } => set("command", json!(command)),
        }
        self.schedule.quiet.iter().for_each(|quiet| set("quiet", json!(quiet.to_string())));
        self.schedule.digest.iter().for_each(|digest| set("digest", json!(digest.to_string())));
        self.link.iter().for_each(|link| set("link", json!(link)));
        value
    }

    /// Returns the variables with secrets.
    fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let (address, secret) = match &self.channel {
            NotifyChannel::Webhook { address, secret_env } => (Some(address), Some(secret_env.as_str())),
            NotifyChannel::Slack { address } => (Some(address), None),
            NotifyChannel::Desktop | NotifyChannel::Script { .. } => (None, None),
        };
        let variable = address.and_then(|address| match address {
            NotifyAddress::Variable(variable) => Some(variable.as_str()),
            NotifyAddress::Url(_) => None,
        });
        variable.into_iter().chain(secret)
    }
}

impl Settings {
    /// Returns the targets as commands: a script is one, and an address gets what agents write.
    pub(in crate::config) fn notify_commands(&self) -> impl Iterator<Item = ProjectCommand> {
        self.notify.value.iter().map(|target| ProjectCommand {
            key: format!("notify.{}", target.name),
            value: target.to_json().to_string(),
            origin: target.origin.clone(),
        })
    }

    /// Returns the variables with secrets of all targets.
    pub(in crate::config) fn notify_secret_variables(&self) -> impl Iterator<Item = &str> {
        self.notify.value.iter().flat_map(NotifyTarget::secret_variables)
    }
}
