//! Notifications: what happened to runs, tasks and workflow runs is stored in an outbox and sent to the targets of the
//! configuration. Nothing that fails here changes a run.
mod channel;
mod desktop;
mod message;
mod notifier;
mod observe;
mod outbox;
mod script;
mod target_status;

pub use notifier::{ActiveNotifier, NotificationHost, Notifier};
pub use target_status::{
    NotifyTargetStatus, NotifyTestResult, UndeliveredMessage, list_notify_targets, test_notify_targets,
};
