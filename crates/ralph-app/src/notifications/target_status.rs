//! Lists the targets with what was not sent, and sends a test message to each.
use std::sync::Arc;
use std::time::Duration;

use ralph_core::notification::NotificationEvent;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;

use super::message::{MessageBody, MessageItem, MessageKind, OutgoingMessage};
use super::notifier::{NotificationHost, Notifier, usable_targets};
use crate::config::{NotifyTarget, Settings};
use crate::error::{AppError, AppResult};
use crate::run::{open_existing_store, refuse_command_by_agent};

/// How long a test may take.
const TEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A target, and what it has not received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyTargetStatus {
    pub target: NotifyTarget,
    /// Whether messages are sent to it: targets of the project's file need approval.
    pub is_approved: bool,
    pub undelivered: Vec<UndeliveredMessage>,
}

/// A message that was not sent yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndeliveredMessage {
    pub id: String,
    pub failures: u32,
    pub error: Option<String>,
}

/// The result of a test message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyTestResult {
    pub name: String,
    pub kind: &'static str,
    pub sent: Result<(), String>,
}

/// Returns all targets in the order of the configuration.
pub async fn list_notify_targets(project: &Project, settings: &Settings) -> AppResult<Vec<NotifyTargetStatus>> {
    let usable = usable_targets(project, settings);
    let open = match open_existing_store(project).await? {
        Some(store) => {
            let open = store.open_deliveries().await?;
            store.close().await;
            open
        }
        None => Vec::new(),
    };
    let status = |target: &NotifyTarget| NotifyTargetStatus {
        is_approved: usable.contains(target),
        undelivered: open
            .iter()
            .filter(|row| row.key.target == target.name)
            .map(|row| UndeliveredMessage {
                id: row.key.notification.clone(),
                failures: row.failures,
                error: row.error.clone(),
            })
            .collect(),
        target: target.clone(),
    };
    Ok(settings.notify.value.iter().map(status).collect())
}

/// Sends a test message to each target, or to the one with this name. Rules and quiet hours do not apply.
pub async fn test_notify_targets(
    project: &Project,
    settings: &Settings,
    host: NotificationHost,
    name: Option<&str>,
) -> AppResult<Vec<NotifyTestResult>> {
    refuse_command_by_agent(project, "send messages to the person who started it")?;
    let all = &settings.notify.value;
    if all.is_empty() {
        return Err(AppError::preflight("no target of notifications is configured")
            .with_advice("add one to `notify` in your configuration file"));
    }
    let chosen: Vec<&NotifyTarget> = all.iter().filter(|target| name.is_none_or(|name| target.name == name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = all.iter().map(|target| target.name.as_str()).collect();
        let message = format!("there is no target {:?}", name.unwrap_or_default());
        return Err(AppError::not_found(message).with_advice(format!("the targets are: {}", names.join(", "))));
    }
    let usable = usable_targets(project, settings);
    let notifier = Arc::new(Notifier { project: project.clone(), targets: Vec::new(), host, since: Clock::wall_now() });
    let message = test_message(&notifier);
    let mut results = Vec::new();
    for target in chosen {
        let sent = match usable.contains(target) {
            true => notifier.send_message(target, &message, TEST_TIMEOUT).await.map_err(|error| error.message),
            false => Err("it comes with the project and is not approved".to_owned()),
        };
        results.push(NotifyTestResult { name: target.name.clone(), kind: target.channel.kind(), sent });
    }
    Ok(results)
}

fn test_message(notifier: &Notifier) -> OutgoingMessage {
    let now = Clock::wall_now();
    let project = notifier.project_name();
    let body = MessageBody {
        events: vec![NotificationEvent::Completed.as_str().to_owned()],
        kind: "test".to_owned(),
        subject: project.clone(),
        role: None,
        task: None,
        run: None,
        line: format!("{project} · this is a test message of ralph"),
        commands: Vec::new(),
        page: String::new(),
        waits: false,
    };
    let item = MessageItem { id: format!("test-{}", now.0), happened_at: now, body };
    OutgoingMessage::about(&[item], MessageKind::Test, &project, None, now)
}
