//! The connection to one platform. Secrets come from the environment, are redacted everywhere, and are never stored.
use std::time::Duration;

use ralph_engine::run_driver::Clock;
use ralph_store::ConversationMessageRow;

use super::{slack, webhook};
use crate::config::Settings;
use crate::conversations::conversation_key::{ConversationKey, Platform};
use crate::error::{AppError, AppResult};
use crate::http_post::PostTarget;

/// How long a platform may take to answer.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

pub(in crate::conversations) struct PlatformEndpoint {
    pub platform: Platform,
    /// Signs and checks requests.
    pub(super) secret: Option<String>,
    target: Option<PostTarget>,
}

impl PlatformEndpoint {
    /// Returns the connection, if the platform is set.
    pub(in crate::conversations) fn load(platform: Platform, settings: &Settings) -> AppResult<Option<Self>> {
        let platforms = &settings.platforms;
        let (address, secret) = match platform {
            Platform::Http => return Ok(None),
            Platform::Slack => {
                let address = read_variable("platforms.slack.url_env", platforms.slack.url_env.value.as_deref())?;
                (address, read_variable("platforms.slack.secret_env", platforms.slack.secret_env.value.as_deref())?)
            }
            Platform::Webhook => {
                let variable = platforms.webhook.secret_env.value.as_deref();
                let secret = read_variable("platforms.webhook.secret_env", variable)?;
                if platforms.webhook.url.value.is_some() && secret.is_none() {
                    return Err(AppError::preflight("platforms.webhook.url is set without a secret")
                        .with_advice("set platforms.webhook.secret_env to the variable that contains it"));
                }
                (platforms.webhook.url.value.clone(), secret)
            }
        };
        let target = address.map(|address| PostTarget::open(platform.as_str(), &address)).transpose()?;
        let is_set = target.is_some() || secret.is_some();
        Ok(is_set.then_some(Self { platform, secret, target }))
    }

    pub(in crate::conversations) fn can_send(&self) -> bool {
        self.target.is_some()
    }

    /// Sends a message once. The error does not contain the address, which may be secret.
    pub(in crate::conversations) async fn send(
        &self,
        key: &ConversationKey,
        message: &ConversationMessageRow,
    ) -> Result<(), String> {
        let Some(target) = &self.target else { return Err("no address is set".to_owned()) };
        let request = match self.platform {
            Platform::Http => return Err("readers fetch these messages".to_owned()),
            Platform::Slack => slack::build_message(key, &message.words),
            Platform::Webhook => {
                let now = Clock::wall_now().0 / 1000;
                webhook::build_message(key, message, self.secret.as_deref().unwrap_or_default(), now)
            }
        };
        target.post(request, SEND_TIMEOUT).await.map_err(|error| error.to_string())
    }
}

/// Reads a variable that a key names. A key without its variable is an error: the platform would be silent.
pub(crate) fn read_variable(key: &str, variable: Option<&str>) -> AppResult<Option<String>> {
    let Some(variable) = variable else { return Ok(None) };
    match std::env::var(variable) {
        Ok(value) if !value.trim().is_empty() => Ok(Some(value.trim().to_owned())),
        Ok(_) | Err(_) => Err(AppError::preflight(format!("the environment variable of {key} is not set"))
            .with_advice("export it before you start the server; write only its name into the configuration")),
    }
}
