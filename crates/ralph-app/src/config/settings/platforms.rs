//! Settings of the platforms on which people write to `ralph serve`. Addresses that are secret, and secrets, are named by
//! their environment variables and never stored.
use crate::config::settings::origin::{Setting, SettingOrigin};

/// When the text of agents reaches a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MessageMode {
    /// Joined: one message for each iteration.
    #[default]
    Batch,
    /// As it comes, with the tool calls.
    Stream,
}

#[derive(Debug, Clone, Default)]
pub struct PlatformSettings {
    pub mode: Setting<MessageMode>,
    pub slack: SlackSettings,
    pub webhook: WebhookSettings,
}

#[derive(Debug, Clone, Default)]
pub struct SlackSettings {
    /// The variable with the address of the incoming webhook: everyone who knows the address can write to the channel.
    pub url_env: Setting<Option<String>>,
    /// The variable with the signing secret.
    pub secret_env: Setting<Option<String>>,
}

#[derive(Debug, Clone, Default)]
pub struct WebhookSettings {
    /// Where the messages of ralph are sent.
    pub url: Setting<Option<String>>,
    /// The variable with the secret that signs both directions.
    pub secret_env: Setting<Option<String>>,
}

impl PlatformSettings {
    /// Returns the first key that the project's file sets. Platforms start workflows, so only the user may connect them.
    #[must_use]
    pub fn key_from_project(&self) -> Option<(&'static str, &SettingOrigin)> {
        let keys = [
            ("platforms.slack.url_env", &self.slack.url_env.origin),
            ("platforms.slack.secret_env", &self.slack.secret_env.origin),
            ("platforms.webhook.url", &self.webhook.url.origin),
            ("platforms.webhook.secret_env", &self.webhook.secret_env.origin),
        ];
        keys.into_iter().find(|(_, origin)| origin.is_from_project())
    }

    /// Returns the variables with secrets.
    pub(in crate::config) fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let variables = [&self.slack.url_env, &self.slack.secret_env, &self.webhook.secret_env];
        variables.into_iter().filter_map(|setting| setting.value.as_deref())
    }
}
