//! Notifications of commands that drive loops: they are sent while the command works, and before it ends.
use std::io::{self, IsTerminal};
use std::sync::Arc;

use ralph_app::config::{ConfigSource, Settings};
use ralph_app::notifications::{NotificationHost, Notifier};
use ralph_engine::project::Project;

use crate::commands::out;
use crate::hints;

/// Sends the notifications of one command. Without a target it does nothing.
pub struct CommandNotifications(Option<Arc<Notifier>>);

impl CommandNotifications {
    pub fn open(project: &Project, settings: &Settings) -> Self {
        Self(Notifier::open(project, settings, notification_host()))
    }

    /// Like [`Self::open`], with the settings of all layers. Without a source nothing is sent.
    pub fn load(project: &Project, config: Option<&ConfigSource>) -> Self {
        // An error in the configuration was reported when the run started.
        let settings = config.and_then(|config| config.load_settings(Some(project)).ok());
        settings.map_or(Self(None), |settings| Self::open(project, &settings))
    }

    /// Sends what happens while the work is done.
    pub async fn send_during<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(notifier) = &self.0 else { return work.await };
        tokio::select! {
            result = work => result,
            () = Arc::clone(notifier).run() => std::future::pending().await,
        }
    }

    /// Sends what is left, within a few seconds.
    pub async fn flush(self) {
        if let Some(notifier) = self.0 {
            notifier.flush().await;
        }
    }
}

/// Returns what only this process knows.
pub fn notification_host() -> NotificationHost {
    let terminal: Option<fn(&str)> = io::stderr().is_terminal().then_some(out::write_terminal_sequence);
    NotificationHost { commands: hints::for_inbox_answer, terminal, server: None }
}
