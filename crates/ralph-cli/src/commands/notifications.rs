//! Notifications of commands that drive loops: they are sent while the command works, and before it ends.
use std::io::{self, IsTerminal};

use ralph_app::config::{ConfigSource, Settings};
use ralph_app::notifications::{ActiveNotifier, NotificationHost, Notifier};
use ralph_engine::project::Project;

use crate::commands::out;
use crate::hints;

/// The notifications of one command. Without a target there are none.
pub struct CommandNotifications(Option<ActiveNotifier>);

impl CommandNotifications {
    /// Sends what happens from now on, while the command works.
    pub fn start(project: &Project, settings: &Settings) -> Self {
        Self(Notifier::open(project, settings, notification_host()).map(Notifier::start))
    }

    /// Like [`Self::start`], with the settings of all layers. Without a source nothing is sent.
    pub fn start_with_config(project: &Project, config: Option<&ConfigSource>) -> Self {
        // An error in the configuration was reported when the run started.
        let settings = config.and_then(|config| config.load_settings(Some(project)).ok());
        settings.map_or(Self(None), |settings| Self::start(project, &settings))
    }

    /// Sends what is left, within a few seconds.
    pub async fn finish(self) {
        if let Some(notifier) = self.0 {
            notifier.finish().await;
        }
    }
}

/// Returns what only this process knows.
pub fn notification_host() -> NotificationHost {
    let terminal: Option<fn(&str)> = io::stderr().is_terminal().then_some(out::write_terminal_sequence);
    NotificationHost { commands: hints::for_inbox_answer, terminal, server: None }
}
